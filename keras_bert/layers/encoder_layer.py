"""One layer of the encoder, post-layer-norm as in the paper."""

import keras

from keras_bert.layers.activation import activation
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.self_attention import SelfAttention


@keras.saving.register_keras_serializable("keras_bert")
class EncoderLayer(keras.layers.Layer):
    """Self-attention and a feed-forward network, each with dropout, residual and layer normalisation (in this order).

    Args:
        num_heads: number of attention heads, N.
        intermediate_size: width of the feed-forward network, F.
        hidden_act: activation of the feed-forward network, as in `BertConfig`.
        dropout: dropout rate of the two sublayers' outputs.
        attention_dropout: dropout rate of the attention probabilities.
        layer_norm_eps: epsilon of the layer normalisations.
        initializer_range: standard deviation of the truncated normal initialiser.
        index: the layer's place in the encoder; keeps its dropout masks apart from the other layers'.

    Call arguments:
        inputs: float (B, T, D).
        padding_mask: int32 (B, T), 1 where the token is real.
        dropout_seed: int32 (2,).

    Returns:
        float (B, T, D).
    """

    def __init__(
        self, num_heads, intermediate_size, hidden_act, dropout, attention_dropout, layer_norm_eps, initializer_range, index, **kwargs
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.dropout_rate = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self.index = index

    def build(self, inputs_shape, padding_mask_shape=None, dropout_seed_shape=None):
        width = inputs_shape[-1]
        salt = 1 + 3 * self.index
        policy = self.dtype_policy

        def dense(name, units, activation=None):
            initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
            return keras.layers.Dense(units, activation=activation, kernel_initializer=initializer, dtype=policy, name=name)

        def layer_norm(name):
            return keras.layers.LayerNormalization(epsilon=self.layer_norm_eps, dtype=policy, name=name)

        self.attention = SelfAttention(
            self.num_heads, self.attention_dropout, self.initializer_range, dropout_salt=salt, dtype=policy, name="attention"
        )
        self.attention_dropout_layer = Dropout(self.dropout_rate, salt=salt + 1, dtype=policy, name="attention_dropout")
        self.attention_layer_norm = layer_norm("attention_layer_norm")
        self.intermediate = dense("intermediate", self.intermediate_size, activation(self.hidden_act))
        self.output_projection = dense("output_projection", width)
        self.output_dropout_layer = Dropout(self.dropout_rate, salt=salt + 2, dtype=policy, name="output_dropout")
        self.output_layer_norm = layer_norm("output_layer_norm")

        self.attention.build(inputs_shape)
        self.attention_layer_norm.build(inputs_shape)
        self.intermediate.build(inputs_shape)
        self.output_projection.build((*inputs_shape[:-1], self.intermediate_size))
        self.output_layer_norm.build(inputs_shape)

    def call(self, inputs, padding_mask, dropout_seed, training=False):
        x = self.attention(inputs, padding_mask, dropout_seed, training=training)
        x = self.attention_layer_norm(inputs + self.attention_dropout_layer(x, dropout_seed, training=training))
        y = self.output_projection(self.intermediate(x))  # (B, T, F) in between
        return self.output_layer_norm(x + self.output_dropout_layer(y, dropout_seed, training=training))

    def compute_output_spec(self, inputs, padding_mask, dropout_seed, training=False):
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "intermediate_size": self.intermediate_size,
            "hidden_act": self.hidden_act,
            "dropout": self.dropout_rate,
            "attention_dropout": self.attention_dropout,
            "layer_norm_eps": self.layer_norm_eps,
            "initializer_range": self.initializer_range,
            "index": self.index,
        }
