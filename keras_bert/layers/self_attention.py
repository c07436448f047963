"""Multi-head self-attention (Vaswani et al., 2017, section 3.2; Devlin et al., 2018, section 3)."""

import math

import keras
from keras import ops

from keras_bert.layers.dropout import Dropout


@keras.saving.register_keras_serializable("keras_bert")
class SelfAttention(keras.layers.Layer):
    """Bidirectional self-attention with query, key and value in one projection.

    The columns of the projection are query, key, value, each of them head after head.

    Args:
        num_heads: number of heads, N; divides the width D.
        dropout: dropout rate of the attention probabilities.
        initializer_range: standard deviation of the truncated normal initialiser.
        dropout_salt: integer that differs between the dropout layers of one model.

    Call arguments:
        inputs: float (B, T, D).
        padding_mask: int32 (B, T), 1 where the token is real. A row without any real token gives finite numbers.
        dropout_seed: int32 (2,).

    Returns:
        float (B, T, D).
    """

    def __init__(self, num_heads, dropout, initializer_range, dropout_salt, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dropout_rate = dropout
        self.initializer_range = initializer_range
        self.dropout_salt = dropout_salt
        self.dropout = Dropout(dropout, salt=dropout_salt, dtype=self.dtype_policy, name="dropout")

    def build(self, inputs_shape, padding_mask_shape=None, dropout_seed_shape=None):
        width = inputs_shape[-1]
        if width % self.num_heads:
            raise ValueError(f"num_heads must divide the width {width}. Received: num_heads={self.num_heads}")

        def dense(name, units):
            initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
            layer = keras.layers.Dense(units, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)
            layer.build(inputs_shape)
            return layer

        self.query_key_value = dense("query_key_value", 3 * width)
        self.output_projection = dense("output_projection", width)

    def call(self, inputs, padding_mask, dropout_seed, training=False):
        batch, length = ops.shape(inputs)[:2]
        width = inputs.shape[-1]
        head_size = width // self.num_heads
        x = ops.reshape(self.query_key_value(inputs), (batch, length, 3, self.num_heads, head_size))
        query, key, value = ops.unstack(ops.transpose(x, (2, 0, 3, 1, 4)), 3)  # (B, N, T, H) each
        scores = ops.matmul(query * (1 / math.sqrt(head_size)), ops.swapaxes(key, -1, -2))  # (B, N, T, T)
        # The softmax is float32 whatever the compute dtype. The bias is large, but finite: a row of padding alone
        # becomes a uniform distribution, not NaN.
        bias = (1 - ops.cast(padding_mask, "float32"))[:, None, None, :] * -1e9
        probabilities = ops.softmax(ops.cast(scores, "float32") + bias, axis=-1)
        probabilities = self.dropout(ops.cast(probabilities, self.compute_dtype), dropout_seed, training=training)
        context = ops.matmul(probabilities, value)  # (B, N, T, H)
        context = ops.reshape(ops.transpose(context, (0, 2, 1, 3)), (batch, length, width))
        return self.output_projection(context)

    def compute_output_spec(self, inputs, padding_mask, dropout_seed, training=False):
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "dropout": self.dropout_rate,
            "initializer_range": self.initializer_range,
            "dropout_salt": self.dropout_salt,
        }
