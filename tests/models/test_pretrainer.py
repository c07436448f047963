import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.models import BertBackbone, BertPretrainer

B, T, P = 5, 11, 3
CONFIG = BertConfig(
    vocab_size=47,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=31,
    max_position_embeddings=13,
    initializer_range=0.1,
)


def batch(next_sentence=True):
    rng = np.random.default_rng(3)
    x = {
        "token_ids": rng.integers(0, CONFIG.vocab_size, (B, T)),
        "segment_ids": rng.integers(0, 2, (B, T)),
        "padding_mask": np.ones((B, T)),
        "mask_positions": np.sort(rng.permuted(np.tile(np.arange(T), (B, 1)), axis=1)[:, :P], axis=1),
    }
    y = {
        "mask_ids": rng.integers(0, CONFIG.vocab_size, (B, P)).astype("int32"),
        "mask_weights": np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0]], "float32"),
    }
    if next_sentence:
        y["next_sentence_labels"] = rng.integers(0, 2, (B,)).astype("int32")
    return {key: value.astype("int32") for key, value in x.items()}, y


def numpy_losses(y, out):
    """Cross-entropy of every prediction, written out."""

    def cross_entropy(logits, labels):
        logits = np.asarray(logits, "float64")
        log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        return -np.take_along_axis(log_probabilities, labels[..., None], -1)[..., 0]

    weights = y["mask_weights"]
    mlm = (cross_entropy(out["mlm_logits"], y["mask_ids"]) * weights).sum() / weights.sum()
    nsp = cross_entropy(out["nsp_logits"], y["next_sentence_labels"]).mean() if "nsp_logits" in out else 0
    return mlm, nsp


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_logits_are_float32_and_close_in_every_precision(dtype):
    keras.utils.set_random_seed(0)
    expected = BertPretrainer(CONFIG)
    model = BertPretrainer(CONFIG, dtype=dtype)
    model.set_weights(expected.get_weights())
    x, _ = batch()
    out = model(x)
    assert {key: tuple(value.shape) for key, value in out.items()} == {"mlm_logits": (B, P, 47), "nsp_logits": (B, 2)}
    for key, value in out.items():
        assert keras.backend.standardize_dtype(value.dtype) == "float32"
        np.testing.assert_allclose(ops.convert_to_numpy(value), ops.convert_to_numpy(expected(x)[key]), atol=0.05)


@pytest.mark.parametrize("next_sentence", [True, False])
def test_loss_equals_the_definition(next_sentence):
    model = BertPretrainer(CONFIG, next_sentence=next_sentence)
    x, y = batch(next_sentence)
    model.compile(keras.optimizers.SGD(0.1))
    out = {key: ops.convert_to_numpy(value) for key, value in model(x).items()}
    assert set(out) == ({"mlm_logits", "nsp_logits"} if next_sentence else {"mlm_logits"})
    mlm, nsp = numpy_losses(y, out)
    logs = model.evaluate(x, y, batch_size=B, verbose=0, return_dict=True)
    assert logs["loss"] == pytest.approx(mlm + nsp, rel=1e-5)
    assert logs["mlm_loss"] == pytest.approx(mlm, rel=1e-5)
    right = (out["mlm_logits"].argmax(-1) == y["mask_ids"]) * y["mask_weights"]
    assert logs["mlm_accuracy"] == pytest.approx(right.sum() / y["mask_weights"].sum())
    if next_sentence:
        assert logs["nsp_loss"] == pytest.approx(nsp, rel=1e-5)
        assert logs["nsp_accuracy"] == pytest.approx((out["nsp_logits"].argmax(-1) == y["next_sentence_labels"]).mean())
    else:
        assert set(logs) == {"loss", "mlm_loss", "mlm_accuracy"}


def test_filler_has_no_influence():
    model = BertPretrainer(CONFIG)
    model.compile(keras.optimizers.SGD(0.1))
    x, y = batch()
    loss = model.test_on_batch(x, y, return_dict=True)["loss"]
    y["mask_ids"] = np.where(y["mask_weights"] == 1, y["mask_ids"], 0).astype("int32")
    x["mask_positions"] = np.where(y["mask_weights"] == 1, x["mask_positions"], 0).astype("int32")
    model.reset_metrics()
    assert model.test_on_batch(x, y, return_dict=True)["loss"] == pytest.approx(loss, rel=1e-6)


def test_a_batch_without_predictions_is_finite():
    model = BertPretrainer(CONFIG, next_sentence=False)
    model.compile(keras.optimizers.SGD(0.1))
    x, y = batch(next_sentence=False)
    y["mask_weights"][:] = 0
    model.fit(x, y, batch_size=B, verbose=0)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_it_overfits_one_batch():
    keras.utils.set_random_seed(2)
    model = BertPretrainer(CONFIG, dropout_seed=1)
    model.compile(keras.optimizers.Adam(0.01))
    x, y = batch()
    history = model.fit(x, y, batch_size=B, epochs=50, shuffle=False, verbose=0).history
    assert history["mlm_loss"][0] > 3
    logs = model.evaluate(x, y, batch_size=B, verbose=0, return_dict=True)
    assert logs["loss"] < 0.2
    assert logs["mlm_accuracy"] == 1


def test_serialisation_round_trip(tmp_path):
    model = BertPretrainer(CONFIG, dropout_seed=1)
    x, _ = batch()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, BertPretrainer)
    assert loaded.backbone.config == CONFIG
    assert loaded.mlm_head.token_embedding is loaded.backbone.token_embedding
    for key, value in model(x).items():
        np.testing.assert_array_equal(ops.convert_to_numpy(loaded(x)[key]), ops.convert_to_numpy(value))


def test_the_output_projection_is_the_token_table():
    model = BertPretrainer(CONFIG)
    tables = [v for v in model.trainable_variables if tuple(v.shape) == (47, 24)]
    assert len(tables) == 1


def test_next_sentence_needs_a_pooler():
    backbone = BertBackbone(CONFIG, pooler=False)
    with pytest.raises(ValueError, match="needs a backbone with a pooler"):
        BertPretrainer(backbone)
    assert BertPretrainer(backbone, next_sentence=False).backbone is backbone
