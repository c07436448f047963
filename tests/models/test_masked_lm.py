import keras
import numpy as np
import pytest

from keras_bert.config import BertConfig
from keras_bert.models import BertBackbone, BertMaskedLM, BertPretrainer
from keras_bert.models.weights import load_arrays, model_arrays
from keras_bert.preprocessing.wordpiece_tokenizer import WordPieceTokenizer
from keras_bert.presets import read_preset

CONFIG = BertConfig(
    vocab_size=29,
    hidden_size=14,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=11,
    max_position_embeddings=13,
    initializer_range=0.5,
)
WORDS = ["the", "capital", "of", "france", "is", "paris", "##s", "."]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


def batch():
    random = np.random.default_rng(3)
    ids = random.integers(0, 29, (5, 7)).astype("int32")
    return {
        "token_ids": ids,
        "segment_ids": ids % 2,
        "padding_mask": np.ones_like(ids),
        "mask_positions": random.integers(0, 7, (5, 3)).astype("int32"),
    }


def predictions(model):
    return keras.ops.convert_to_numpy(model(batch(), training=False))


def test_a_saved_model_predicts_the_same_from_every_format(tmp_path):
    model = BertMaskedLM(CONFIG, WordPieceTokenizer(VOCABULARY, lowercase=False))
    model.backbone.trainable = False  # frozen weights are saved as well
    expected = predictions(model)
    assert expected.shape == (5, 3, 29)
    assert expected.dtype == np.float32
    model.save_to_preset(tmp_path / "preset")
    again = BertMaskedLM.from_preset(tmp_path / "preset")
    np.testing.assert_array_equal(predictions(again), expected)
    assert again.preprocessor.vocabulary == VOCABULARY
    assert again.preprocessor.lowercase is False
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(predictions(again), expected)
    assert again.preprocessor.vocabulary == VOCABULARY


def test_heads_move_between_models_and_absent_ones_start_fresh(tmp_path, recwarn):
    pretrainer = BertPretrainer(CONFIG, preprocessor=WordPieceTokenizer(VOCABULARY))
    pretrainer.save_to_preset(tmp_path / "pretrainer")
    model = BertMaskedLM.from_preset(tmp_path / "pretrainer", dtype="mixed_bfloat16")
    for path, array in model_arrays(model).items():
        np.testing.assert_array_equal(array, model_arrays(pretrainer)[path], err_msg=path)
    assert predictions(model).dtype == np.float32
    again = BertPretrainer.from_preset(tmp_path / "pretrainer")
    assert again.next_sentence
    assert again.preprocessor.vocabulary == VOCABULARY
    backbone = BertBackbone.from_preset(tmp_path / "pretrainer")
    assert backbone.pooler is not None
    assert not [warning for warning in recwarn if "newly initialised" in str(warning.message)]
    backbone.save_to_preset(tmp_path / "backbone")
    with pytest.warns(UserWarning, match="backbone has no mlm_head: newly initialised"):
        fresh = BertMaskedLM.from_preset(tmp_path / "backbone")
    assert fresh.preprocessor is None
    BertPretrainer(CONFIG, next_sentence=False).save_to_preset(tmp_path / "mlm")
    assert not BertPretrainer.from_preset(tmp_path / "mlm").next_sentence
    assert not any(path.startswith(("pooler", "nsp_head")) for path in read_preset(tmp_path / "mlm").arrays)


def test_strict_loading_lists_both_sides_and_changes_nothing():
    model = BertMaskedLM(CONFIG)
    before = model_arrays(model)
    arrays = {path: array + 1 for path, array in before.items()}
    del arrays["mlm_head/bias"]
    arrays["nsp_head/bias"] = np.zeros(2)
    arrays["encoder_layer_1/intermediate/kernel"] = np.zeros((11, 14))
    with pytest.raises(ValueError) as error:
        load_arrays(model, arrays)
    assert "missing: mlm_head/bias (29,)" in str(error.value)
    assert "surplus: nsp_head/bias (2,)" in str(error.value)
    assert "misshapen: encoder_layer_1/intermediate/kernel, expected (14, 11). Received: (11, 14)" in str(error.value)
    for path, array in model_arrays(model).items():
        np.testing.assert_array_equal(array, before[path])


def test_fill_mask_ranks_the_model_s_own_probabilities():
    pytest.importorskip("tensorflow_text")
    model = BertMaskedLM(CONFIG, WordPieceTokenizer(VOCABULARY))
    texts = ["The capital of France is [MASK].", "[MASK] is [MASK]"]
    several = model.fill_mask(texts, top_k=3)
    assert [len(masks) for masks in several] == [1, 2]
    for text, masks in zip(texts, several, strict=True):
        # A text alone gives what it gives in a batch, padding or not.
        alone = model.fill_mask(text, top_k=len(VOCABULARY))
        for mask, full in zip(masks, alone, strict=True):
            assert [entry["token"] for entry in mask] == [entry["token"] for entry in full[:3]]
            np.testing.assert_allclose([entry["score"] for entry in mask], [entry["score"] for entry in full[:3]], rtol=1e-4)
            assert sorted(entry["token"] for entry in full) == sorted(VOCABULARY)
    ids = np.array([[2, 5, 6, 7, 8, 9, 4, 12, 3]], "int32")
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1, "mask_positions": np.array([[6]], "int32")}
    logits = keras.ops.convert_to_numpy(model(inputs, training=False))[0, 0]
    probabilities = np.exp(logits) / np.exp(logits).sum()
    for entry in several[0][0]:
        np.testing.assert_allclose(entry["score"], probabilities[VOCABULARY.index(entry["token"])], rtol=1e-4)
    assert model.fill_mask([]) == []


def test_fill_mask_refuses_what_it_cannot_fill():
    pytest.importorskip("tensorflow_text")
    model = BertMaskedLM(CONFIG, WordPieceTokenizer(VOCABULARY))
    with pytest.raises(ValueError, match=r"must contain \[MASK\]. Received: text='the capital'"):
        model.fill_mask(["[MASK]", "the capital"])
    assert len(model.fill_mask("[MASK]" + " the" * 10)) == 1
    with pytest.raises(ValueError, match="at most 11 tokens .*Received: 12 tokens"):
        model.fill_mask("[MASK]" + " the" * 11)
    with pytest.raises(ValueError, match="top_k must be an integer from 1 to 13"):
        model.fill_mask("[MASK]", top_k=0)
    with pytest.raises(ValueError, match="needs a tokenizer"):
        BertMaskedLM(CONFIG).fill_mask("[MASK]")
    with pytest.raises(ValueError, match="must fit vocab_size=29. Received: 30 pieces"):
        BertMaskedLM(CONFIG, WordPieceTokenizer([*VOCABULARY, *map(str, range(17))]))


def test_fit_learns_under_the_standard_loss():
    keras.utils.set_random_seed(1)
    model = BertMaskedLM(CONFIG, WordPieceTokenizer(VOCABULARY))
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    inputs = batch()
    targets = np.take_along_axis(inputs["token_ids"], inputs["mask_positions"], 1)
    history = model.fit(inputs, targets, sample_weight=np.ones(targets.shape), epochs=30, verbose=0).history["loss"]
    assert history[-1] < 0.5 * history[0]
