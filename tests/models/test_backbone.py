import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.models import BertBackbone

B, T = 3, 7
CONFIG = BertConfig(
    vocab_size=53,
    hidden_size=22,
    num_hidden_layers=2,
    num_attention_heads=11,
    intermediate_size=29,
    max_position_embeddings=13,
    type_vocab_size=2,
    initializer_range=0.2,
)


def inputs(batch=B, length=T, seed=0):
    rng = np.random.default_rng(seed)
    mask = np.arange(length) < rng.integers(1, length + 1, (batch, 1))
    mask[0] = True
    return {
        "token_ids": rng.integers(0, CONFIG.vocab_size, (batch, length)).astype("int32"),
        "segment_ids": rng.integers(0, 2, (batch, length)).astype("int32"),
        "padding_mask": mask.astype("int32"),
    }


def outputs(model, x, **kwargs):
    return {key: ops.convert_to_numpy(ops.cast(value, "float32")) for key, value in model(x, **kwargs).items()}


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)
    return BertBackbone(CONFIG, dropout_seed=5)


def test_shapes(model):
    out = outputs(model, inputs())
    assert {key: value.shape for key, value in out.items()} == {"sequence_output": (B, T, 22), "pooled_output": (B, 22)}


def test_without_pooler():
    assert set(BertBackbone(CONFIG, pooler=False)(inputs())) == {"sequence_output"}


def test_hidden_states_run_from_the_embeddings_to_the_sequence_output(model):
    deep = BertBackbone(CONFIG, output_hidden_states=True)
    deep.set_weights(model.get_weights())
    out = deep(inputs())
    states = [ops.convert_to_numpy(state) for state in out["hidden_states"]]
    assert [state.shape for state in states] == [(B, T, 22)] * (CONFIG.num_hidden_layers + 1)
    np.testing.assert_array_equal(states[-1], ops.convert_to_numpy(out["sequence_output"]))
    np.testing.assert_allclose(states[-1], outputs(model, inputs())["sequence_output"], atol=1e-6)
    # The embeddings depend on no other position.
    other = inputs()
    other["token_ids"][:, 3:] = 7
    np.testing.assert_array_equal(ops.convert_to_numpy(deep(other)["hidden_states"][0])[:, :3], states[0][:, :3])


def test_padding_does_not_influence_real_tokens(model):
    x = inputs()
    real = x["padding_mask"].astype(bool)
    before = outputs(model, x)
    changed = {**x, "token_ids": np.where(real, x["token_ids"], 1), "segment_ids": np.where(real, x["segment_ids"], 1)}
    longer = {key: np.pad(value, [(0, 0), (0, 4)]) for key, value in x.items()}
    for other in (changed, longer):
        after = outputs(model, other)
        np.testing.assert_allclose(after["sequence_output"][:, :T][real], before["sequence_output"][real], atol=1e-5)
        np.testing.assert_allclose(after["pooled_output"], before["pooled_output"], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_row_of_padding_alone_is_finite(model, dtype):
    x = inputs()
    x["padding_mask"][1] = 0
    other = BertBackbone(CONFIG, dtype=dtype)
    other.set_weights(model.get_weights())
    out = outputs(other, x)
    assert all(np.isfinite(value).all() for value in out.values())
    keep = [0, 2]
    tolerance = 1e-5 if dtype == "float32" else 0.1
    np.testing.assert_allclose(out["sequence_output"][keep], outputs(model, x)["sequence_output"][keep], atol=tolerance)


@pytest.mark.parametrize("dtype, tolerance", [("mixed_bfloat16", 0.1), ("mixed_float16", 0.02)])
def test_mixed_precision_is_close(model, dtype, tolerance):
    mixed = BertBackbone(CONFIG, dtype=dtype)
    mixed.set_weights(model.get_weights())
    assert {variable.dtype for variable in mixed.trainable_variables} == {"float32"}
    expected, received = outputs(model, inputs()), outputs(mixed, inputs())
    for key, value in expected.items():
        np.testing.assert_allclose(received[key], value, atol=tolerance)


def test_serialisation_round_trip(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, BertBackbone)
    assert loaded.config == CONFIG
    assert loaded.get_config() == model.get_config()
    for key, value in outputs(model, inputs()).items():
        np.testing.assert_array_equal(outputs(loaded, inputs())[key], value)


def test_configuration_round_trip():
    model = BertBackbone(CONFIG, pooler=False, output_hidden_states=True, dropout_seed=3, dtype="mixed_bfloat16", name="trunk")
    again = BertBackbone.from_config(model.get_config())
    assert again.get_config() == model.get_config()
    assert [v.path for v in again.weights] == [v.path for v in model.weights]


def test_dropout_is_off_in_inference_and_repeats_by_seed():
    keras.utils.set_random_seed(1)
    first, second = (BertBackbone(CONFIG, dropout_seed=5) for _ in range(2))
    second.set_weights(first.get_weights())
    x = inputs()
    np.testing.assert_array_equal(outputs(first, x)["sequence_output"], outputs(first, x)["sequence_output"])
    passes = [outputs(first, x, training=True)["sequence_output"] for _ in range(2)]
    assert abs(passes[0] - passes[1]).max() > 1e-3
    for expected in passes:
        np.testing.assert_array_equal(outputs(second, x, training=True)["sequence_output"], expected)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX always compiles; torch.compile needs a C++ compiler")
def test_a_training_step_with_dropout_is_the_same_with_and_without_xla(model):
    x, weights = inputs(), []
    targets = {"sequence_output": np.ones((B, T, 22), "float32"), "pooled_output": np.ones((B, 22), "float32")}
    for jit_compile in (True, False):
        trained = BertBackbone(CONFIG, dropout_seed=5)
        trained.set_weights(model.get_weights())
        trained.compile(keras.optimizers.SGD(0.1), loss={"sequence_output": "mse", "pooled_output": "mse"}, jit_compile=jit_compile)
        for _ in range(2):
            trained.train_on_batch(x, targets)
        weights.append(trained.get_weights())
    for compiled, eager in zip(*weights, strict=True):
        np.testing.assert_allclose(compiled, eager, atol=1e-5)
    assert any(abs(before - after).max() > 1e-3 for before, after in zip(model.get_weights(), weights[0], strict=True))


def test_a_sequence_longer_than_the_position_table_is_an_error(model):
    outputs(model, inputs(length=13))
    with pytest.raises(ValueError, match=r"at most 13 tokens \(max_position_embeddings\).*Received: 14"):
        model(inputs(length=14))


def test_a_configuration_of_another_type_is_an_error():
    with pytest.raises(TypeError, match="config must be a BertConfig.*Received: 'base'"):
        BertBackbone("base")
