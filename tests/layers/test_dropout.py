"""The masks are checked as a source of random bits is: against what independent draws would give."""

import hashlib

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers import Dropout, DropoutSeed

SHAPE = (64, 32, 101)
SIZE = int(np.prod(SHAPE))
SIGMAS = 5  # the masks are fixed, so a bound that holds today holds for good


def kept(seed, salt=0, rate=0.1, shape=SHAPE):
    """The mask as float64: 1 where an element was kept."""
    out = Dropout(rate, salt)(ops.ones(shape), seed, training=True)
    return (ops.convert_to_numpy(out) != 0).astype("float64")


def seeds(seed, steps):
    """The dropout seeds of the first `steps` training passes."""
    layer = DropoutSeed(seed)
    return [layer(ops.zeros((1,)), training=True) for _ in range(steps)]


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.9])
def test_the_rate_is_met(rate):
    for salt, seed in enumerate(seeds(7, 4)):
        mean = 1 - kept(seed, salt, rate).mean()
        assert abs(mean - rate) < SIGMAS * np.sqrt(rate * (1 - rate) / SIZE)


def test_the_expectation_is_kept():
    out = ops.convert_to_numpy(Dropout(0.25, 3)(ops.ones(SHAPE), seeds(1, 1)[0], training=True))
    np.testing.assert_allclose(np.unique(out), [0, 4 / 3], rtol=1e-6)


def test_no_row_or_column_is_dropped_more_than_others():
    mask = kept(seeds(11, 1)[0])
    for axis in range(3):
        means = mask.mean(axis=tuple(i for i in range(3) if i != axis))
        sigma = np.sqrt(0.1 * 0.9 / (SIZE / SHAPE[axis]))
        assert abs(means - 0.9).max() < SIGMAS * sigma


def test_neighbours_are_uncorrelated():
    mask = kept(seeds(3, 1)[0]).ravel()
    mask = (mask - mask.mean()) / mask.std()
    for lag in [1, 2, 3, 4, 7, 8, 16, 64, SHAPE[2], 1024, SHAPE[1] * SHAPE[2], 2**16]:
        assert abs((mask[lag:] * mask[:-lag]).mean()) < SIGMAS / np.sqrt(SIZE - lag), lag


def test_masks_of_other_steps_salts_and_seeds_are_uncorrelated():
    shape = (40, 1009)
    masks = [kept(step, salt, shape=shape).ravel() for seed in (0, 1, 2**31 - 1) for step in seeds(seed, 5) for salt in (0, 1, 2, 25)]
    correlation = np.corrcoef(masks)
    np.fill_diagonal(correlation, 0)
    assert abs(correlation).max() < SIGMAS / np.sqrt(40 * 1009)
    # Nor is a mask another one that was shifted by a few places.
    for lag in (1, 2, 3):
        shifted = np.corrcoef(masks[0][lag:], masks[1][:-lag])[0, 1]
        assert abs(shifted) < SIGMAS / np.sqrt(40 * 1009 - lag)


def test_masks_are_the_same_on_every_backend():
    """The digest was made on TensorFlow; the tests run on each backend in turn."""
    masks = [kept(step, salt, shape=(3, 5, 101)) for step in seeds(42, 3) for salt in (0, 4)]
    digest = hashlib.sha256(np.packbits(np.array(masks, "uint8")).tobytes()).hexdigest()
    assert digest == "70d183ccf50a2f899506a73de7ff6b490868ccff9f9cbad4b8c986edd5e22476"


def test_masks_are_the_same_compiled():
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        compiled = tf.function(lambda seed: Dropout(0.1, 1)(ops.ones(SHAPE), seed, training=True), jit_compile=True)
    elif keras.backend.backend() == "jax":
        import jax

        compiled = jax.jit(lambda seed: Dropout(0.1, 1)(ops.ones(SHAPE), seed, training=True))
    else:
        pytest.skip("torch.compile needs a C++ compiler")
    seed = seeds(5, 1)[0]
    np.testing.assert_array_equal(ops.convert_to_numpy(compiled(seed)) != 0, kept(seed, 1) != 0)


def test_the_same_seed_repeats_and_passes_differ():
    first, again = seeds(9, 3), seeds(9, 3)
    np.testing.assert_array_equal(ops.convert_to_numpy(ops.stack(first)), ops.convert_to_numpy(ops.stack(again)))
    assert len({tuple(ops.convert_to_numpy(seed).tolist()) for seed in first}) == 3


def test_inference_is_the_identity_and_counts_no_pass():
    x = keras.random.normal((3, 5), seed=1)
    layer = DropoutSeed(9)
    for _ in range(2):
        out = Dropout(0.5, 0)(x, layer(x, training=False), training=False)
        np.testing.assert_array_equal(ops.convert_to_numpy(out), ops.convert_to_numpy(x))
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(x, training=True)), ops.convert_to_numpy(seeds(9, 1)[0]))


def test_rate_zero_is_the_identity():
    np.testing.assert_array_equal(kept(seeds(1, 1)[0], rate=0.0), np.ones(SHAPE))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_keeps_its_dtype_and_mask(dtype):
    seed = seeds(2, 1)[0]
    out = Dropout(0.1, 0, dtype=dtype)(ops.ones(SHAPE, dtype=dtype), seed, training=True)
    assert keras.backend.standardize_dtype(out.dtype) == dtype
    np.testing.assert_array_equal(ops.convert_to_numpy(ops.cast(out, "float32")) != 0, kept(seed) != 0)


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5])
def test_a_rate_out_of_range_is_an_error(rate):
    with pytest.raises(ValueError, match=f"Received: rate={rate}"):
        Dropout(rate, 0)


def test_layers_rebuild_from_their_configuration():
    dropout = Dropout.from_config(Dropout(0.3, 17).get_config())
    assert (dropout.rate, dropout.salt) == (0.3, 17)
    seed = DropoutSeed.from_config(DropoutSeed(23).get_config())
    np.testing.assert_array_equal(ops.convert_to_numpy(seed(ops.zeros((1,)), training=True)), ops.convert_to_numpy(seeds(23, 1)[0]))
