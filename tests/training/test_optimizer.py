import keras
import numpy as np
import pytest

from keras_bert.training import BertAdamW, LinearWarmupDecay


def test_the_rate_rises_linearly_and_falls_linearly_to_zero():
    schedule = LinearWarmupDecay(0.5, warmup_steps=4, total_steps=24)
    rates = [float(schedule(step)) for step in range(26)]
    np.testing.assert_allclose(rates[:5], [0.1, 0.2, 0.3, 0.4, 0.5], rtol=1e-6)
    np.testing.assert_allclose(np.diff(rates[4:25]), -0.025, rtol=1e-4)
    assert rates[24] == rates[25] == 0
    with pytest.raises(ValueError, match="warmup_steps=7, total_steps=7"):
        LinearWarmupDecay(1.0, 7, 7)


def test_three_steps_equal_the_published_algorithm():
    rng = np.random.default_rng(0)
    layer = keras.layers.Dense(3)
    layer.build((None, 5))
    norm = keras.layers.LayerNormalization()
    norm.build((None, 3))
    variables = [*layer.trainable_variables, *norm.trainable_variables]  # kernel, bias, gamma, beta
    values = [rng.normal(size=v.shape).astype("float32") for v in variables]
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
    optimizer = BertAdamW(LinearWarmupDecay(0.1, 0, 10))
    optimizer.build(variables)
    m, v = ([np.zeros_like(value) for value in values] for _ in range(2))
    for step in range(3):
        grads = [(10.0 ** (1 - step) * rng.normal(size=value.shape)).astype("float32") for value in values]
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in grads])
        length = np.sqrt(sum((g**2).sum() for g in grads))
        assert float(optimizer.gradient_norm) == pytest.approx(length, rel=1e-5)
        rate = 0.1 * (10 - step) / 10
        for i, g in enumerate(grads):
            g = g / max(length, 1.0)
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g**2
            # Kingma and Ba, 2015, section 2: the efficient form, in which epsilon is added to the uncorrected moment.
            update = m[i] * np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1)) / (np.sqrt(v[i]) + 1e-6)
            decay = 0.01 if i == 0 else 0.0  # the kernel alone
            values[i] = values[i] - rate * (update + decay * values[i])
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), value, rtol=2e-5, atol=2e-6)


def test_the_optimizer_survives_serialisation():
    optimizer = BertAdamW(LinearWarmupDecay(0.1, 2, 10), clipnorm=0.7)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(optimizer))
    assert again.get_config() == optimizer.get_config()
    assert again.global_clipnorm == 0.7
