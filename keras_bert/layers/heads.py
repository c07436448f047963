"""What stands on the encoder: the pooler and the masked-LM head."""

import keras
from keras import ops

from keras_bert.layers.activation import activation


@keras.saving.register_keras_serializable("keras_bert")
class Pooler(keras.layers.Layer):
    """A tanh projection of the first token's vector (Devlin et al., 2018, section 3: the vector C).

    Args:
        initializer_range: standard deviation of the truncated normal initialiser.

    Call arguments:
        inputs: float (B, T, D).

    Returns:
        float (B, D).
    """

    def __init__(self, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        self.dense = keras.layers.Dense(width, activation="tanh", kernel_initializer=initializer, dtype=self.dtype_policy, name="dense")
        self.dense.build((inputs_shape[0], width))

    def call(self, inputs):
        return self.dense(inputs[:, 0])

    def get_config(self):
        return {**super().get_config(), "initializer_range": self.initializer_range}


@keras.saving.register_keras_serializable("keras_bert")
class MaskedLMHead(keras.layers.Layer):
    """Predicts the tokens at `mask_positions` (Devlin et al., 2018, section 3.1, task 1).

    Only the P chosen positions pass the transform and reach the vocabulary. The projection is the token table itself,
    with a bias of its own.

    Args:
        token_embedding: the model's `keras.layers.ReversibleEmbedding`.
        hidden_act: activation of the transform, as in `BertConfig`.
        layer_norm_eps: epsilon of the layer normalisation.
        initializer_range: standard deviation of the truncated normal initialiser.

    Call arguments:
        inputs: float (B, T, D).
        mask_positions: int32 (B, P).

    Returns:
        float32 logits (B, P, V).
    """

    def __init__(self, token_embedding, hidden_act, layer_norm_eps, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.token_embedding = token_embedding
        self.hidden_act = hidden_act
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range

    def build(self, inputs_shape, mask_positions_shape=None):
        width = inputs_shape[-1]
        initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        self.transform = keras.layers.Dense(
            width, activation=activation(self.hidden_act), kernel_initializer=initializer, dtype=self.dtype_policy, name="transform"
        )
        self.transform.build(inputs_shape)
        self.layer_norm = keras.layers.LayerNormalization(epsilon=self.layer_norm_eps, dtype=self.dtype_policy, name="layer_norm")
        self.layer_norm.build(inputs_shape)
        self.bias = self.add_weight(name="bias", shape=(self.token_embedding.input_dim,), initializer="zeros", autocast=False)

    def call(self, inputs, mask_positions):
        x = ops.take_along_axis(inputs, mask_positions[:, :, None], axis=1)  # (B, P, D)
        x = self.layer_norm(self.transform(x))
        logits = self.token_embedding(x, reverse=True)  # (B, P, V)
        return ops.cast(logits, "float32") + self.bias

    def compute_output_spec(self, inputs, mask_positions):
        return keras.KerasTensor((*mask_positions.shape, self.token_embedding.input_dim), dtype="float32")

    def get_config(self):
        return {
            **super().get_config(),
            "token_embedding": keras.saving.serialize_keras_object(self.token_embedding),
            "hidden_act": self.hidden_act,
            "layer_norm_eps": self.layer_norm_eps,
            "initializer_range": self.initializer_range,
        }
