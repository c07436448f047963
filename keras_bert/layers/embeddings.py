"""Sum of token, segment and position embeddings (Devlin et al., 2018, figure 2)."""

import keras
from keras import ops

from keras_bert.layers.dropout import Dropout


@keras.saving.register_keras_serializable("keras_bert")
class BertEmbeddings(keras.layers.Layer):
    """Adds learned segment and position embeddings to token embeddings, then layer normalisation and dropout.

    The token table itself is a layer of the model (`keras.layers.ReversibleEmbedding`), because the masked-LM
    head projects with it too.

    Args:
        max_position_embeddings: longest sequence, in tokens.
        type_vocab_size: number of segments.
        dropout: dropout rate.
        layer_norm_eps: epsilon of the layer normalisation.
        initializer_range: standard deviation of the truncated normal initialiser.

    Call arguments:
        token_vectors: float (B, T, D).
        segment_ids: int32 (B, T).
        dropout_seed: int32 (2,).

    Returns:
        float (B, T, D).
    """

    def __init__(self, max_position_embeddings, type_vocab_size, dropout, layer_norm_eps, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.max_position_embeddings = max_position_embeddings
        self.type_vocab_size = type_vocab_size
        self.dropout_rate = dropout
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self.layer_norm = keras.layers.LayerNormalization(epsilon=layer_norm_eps, dtype=self.dtype_policy, name="layer_norm")
        self.dropout = Dropout(dropout, salt=0, dtype=self.dtype_policy, name="dropout")

    def build(self, token_vectors_shape, segment_ids_shape=None, dropout_seed_shape=None):
        width = token_vectors_shape[-1]

        def table(name, rows):
            initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
            return self.add_weight(name=name, shape=(rows, width), initializer=initializer)

        self.position_embeddings = table("position_embeddings", self.max_position_embeddings)
        self.segment_embeddings = table("segment_embeddings", self.type_vocab_size)
        self.layer_norm.build(token_vectors_shape)

    def call(self, token_vectors, segment_ids, dropout_seed, training=False):
        length = token_vectors.shape[1]
        if length is not None and length > self.max_position_embeddings:
            raise ValueError(
                f"A sequence may have at most {self.max_position_embeddings} tokens (max_position_embeddings). "
                f"Received: {length}. Truncate it, or build the model with more positions."
            )
        positions = self.position_embeddings[: ops.shape(token_vectors)[1]]  # (T, D)
        # One-hot times a table of two rows is faster than a gather, and much faster than its gradient, a scatter.
        segments = ops.one_hot(segment_ids, self.type_vocab_size, dtype=self.compute_dtype)  # (B, T, 2)
        x = token_vectors + positions + ops.matmul(segments, self.segment_embeddings)
        return self.dropout(self.layer_norm(x), dropout_seed, training=training)

    def compute_output_spec(self, token_vectors, segment_ids, dropout_seed, training=False):
        return keras.KerasTensor(token_vectors.shape, dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "max_position_embeddings": self.max_position_embeddings,
            "type_vocab_size": self.type_vocab_size,
            "dropout": self.dropout_rate,
            "layer_norm_eps": self.layer_norm_eps,
            "initializer_range": self.initializer_range,
        }
