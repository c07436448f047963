"""Dropout whose masks are a pure function of (seed, step, layer, replica).

`DropoutSeed` reads the seed and the step once per forward pass; every `Dropout` of the model turns that pair and
its own salt into a mask by hashing the index of each element. The hash is 32-bit integer arithmetic that wraps,
so the masks are the same on every backend, with XLA and without, and a recomputed forward pass draws them again.
"""

import keras
from keras import ops


def _signed(constant: int) -> int:
    """A 32-bit constant as the signed number with the same bits."""
    return constant - (1 << 32) if constant >= 1 << 31 else constant


# Multipliers and shifts of a 32-bit finaliser with low bias (found by C. Wellons' hash prospector).
_MULTIPLY_1, _MULTIPLY_2 = _signed(0x7FEB352D), _signed(0x846CA68B)


def _shift_right(x, bits: int):
    """Logical right shift of int32."""
    return ops.bitwise_and(ops.right_shift(x, bits), (1 << (32 - bits)) - 1)


def _mix(x, key):
    """A bijection of int32 for each `key`, in which every bit of the input and of the key flips about half of the output."""
    x = ops.bitwise_xor(x, _shift_right(x, 16)) * _MULTIPLY_1
    x = ops.bitwise_xor(x, key)
    x = ops.bitwise_xor(x, _shift_right(x, 15)) * _MULTIPLY_2
    return ops.bitwise_xor(x, _shift_right(x, 16))


def _replica() -> int:
    """The replica's index under `tf.distribute`; 0 elsewhere (JAX and PyTorch see one program)."""
    if keras.backend.backend() != "tensorflow":
        return 0
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    return 0 if context is None else context.replica_id_in_sync_group


@keras.saving.register_keras_serializable("keras_bert")
class DropoutSeed(keras.layers.Layer):
    """Two int32 words that determine all dropout masks of one forward pass.

    The pair is hashed from (seed, number of training passes so far, replica). The count of passes is the only
    state, it is among the model's `variables`, and it advances once per training pass.

    Args:
        seed: integer in [0, 2**31); by default drawn from Python's random module, which `keras.utils.set_random_seed` seeds.

    Call arguments:
        inputs: any tensor; only its place in the graph is used.

    Returns:
        int32 of shape (2,).
    """

    def __init__(self, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        if seed is not None and not 0 <= seed < 2**31:
            raise ValueError(f"seed must be in [0, 2147483648). Received: seed={seed}")
        self.generator = keras.random.SeedGenerator(seed, name="generator")

    def call(self, inputs, training=False):
        if not training:
            return ops.zeros((2,), dtype="int32")
        seed, step = ops.unstack(ops.cast(self.generator.next(), "int32"), 2)
        first = _mix(_mix(step, seed), ops.cast(_replica(), "int32"))
        return ops.stack([first, _mix(first, seed)])

    def compute_output_spec(self, inputs, training=False):
        return keras.KerasTensor((2,), dtype="int32")

    def get_config(self):
        return {**super().get_config(), "seed": self.generator.get_config()["seed"]}


@keras.saving.register_keras_serializable("keras_bert")
class Dropout(keras.layers.Layer):
    """Zeroes elements with probability `rate` and scales the others by `1 / (1 - rate)`.

    Args:
        rate: probability of zeroing, in [0, 1).
        salt: integer that differs between the dropout layers of one model.

    Call arguments:
        inputs: float tensor of any shape.
        dropout_seed: int32 (2,), from `DropoutSeed`.
    """

    def __init__(self, rate: float, salt: int, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"rate must be in [0, 1). Received: rate={rate}")
        self.rate = rate
        self.salt = salt
        self.built = True

    def call(self, inputs, dropout_seed, training=False):
        if not training or self.rate == 0:
            return inputs
        shape = ops.shape(inputs)
        key_1, key_2 = ops.unstack(_mix(dropout_seed, ops.cast(self.salt, "int32")), 2)
        size = 1
        for length in shape:
            size = size * length
        index = ops.arange(size, dtype="int32")
        bits = ops.reshape(_mix(index + key_1, key_2), shape)
        # The bits are uniform over the 2**32 signed integers, of which the lowest `rate` are dropped.
        keep = bits >= round(self.rate * 2**32) - 2**31
        return ops.where(keep, inputs * (1 / (1 - self.rate)), 0)

    def compute_output_spec(self, inputs, dropout_seed, training=False):
        return keras.KerasTensor(inputs.shape, dtype=inputs.dtype)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "salt": self.salt}
