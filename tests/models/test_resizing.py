import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.models.weights import model_arrays

CONFIG = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "a", "b"]
KEPT = [0, 1, 2, 3, 4, 6, 7]  # the ids of tokens that stay
INPUTS = {"token_ids": [[2, 6, 4, 3]], "segment_ids": [[0] * 4], "padding_mask": [[1] * 4], "mask_positions": [[2]]}


@pytest.fixture
def tokenizer():
    return keras_bert.WordPieceTokenizer(VOCABULARY)


def inputs(*keys):
    return {key: np.array(INPUTS[key], "int32") for key in keys}


def test_a_resized_model_keeps_its_weights_and_knows_the_new_tokens(tokenizer, tmp_path):
    config = keras_bert.BertConfig(vocab_size=8, **CONFIG)
    model = keras_bert.BertMaskedLM(config, preprocessor=tokenizer)
    model.mlm_head.weights[-1].assign(np.random.default_rng(0).normal(size=model.mlm_head.weights[-1].shape))
    more = tokenizer.add_tokens(["slot", "new", "##er"])
    resized = keras_bert.resize_token_embeddings(model, more)
    assert (model.backbone.config.vocab_size, resized.backbone.config.vocab_size) == (8, 10)
    assert resized.preprocessor.vocabulary == more.vocabulary
    before, after = model_arrays(model), model_arrays(resized)
    for path, array in before.items():
        rows = KEPT if path in ("token_embedding/embeddings", "mlm_head/bias") else slice(None)
        np.testing.assert_array_equal(after[path][rows], array[rows])
    embeddings = after["token_embedding/embeddings"]
    np.testing.assert_allclose(embeddings[[5, 8, 9]], np.broadcast_to(embeddings[KEPT].mean(axis=0), (3, 16)), atol=1e-6)
    old, new = (keras.ops.convert_to_numpy(m(inputs(*INPUTS))) for m in (model, resized))
    np.testing.assert_allclose(new[..., KEPT], old[..., KEPT], atol=1e-6)
    assert len(resized.fill_mask("new [MASK]", top_k=10)[0]) == 10
    resized.save_to_preset(tmp_path / "preset")
    assert keras_bert.BertMaskedLM.from_preset(tmp_path / "preset").preprocessor.vocabulary == more.vocabulary


def test_backbones_and_pretrainers_are_resized_too(tokenizer):
    config = keras_bert.BertConfig(vocab_size=8, **CONFIG)
    more = tokenizer.add_tokens(["one", "two", "[ENT]"], special=True)
    backbone = keras_bert.resize_token_embeddings(keras_bert.BertBackbone(config), more)
    assert backbone.config.vocab_size == 10
    pretrainer = keras_bert.resize_token_embeddings(keras_bert.BertPretrainer(config, next_sentence=False), more)
    assert pretrainer(inputs(*INPUTS))["mlm_logits"].shape == (1, 1, 10)
    assert not pretrainer.next_sentence


def test_tokens_in_unused_slots_change_no_size(tokenizer):
    model = keras_bert.BertMaskedLM(keras_bert.BertConfig(vocab_size=8, **CONFIG), preprocessor=tokenizer)
    resized = keras_bert.resize_token_embeddings(model, tokenizer.add_tokens(["slot"]))
    assert resized.backbone.config.vocab_size == 8
    assert resized.preprocessor.token_to_id("slot") == 5


def test_what_was_frozen_stays_frozen(tokenizer):
    model = keras_bert.BertMaskedLM(keras_bert.BertConfig(vocab_size=8, **CONFIG), preprocessor=tokenizer)
    model.backbone.trainable = False
    resized = keras_bert.resize_token_embeddings(model, tokenizer.add_tokens(["new"]))
    assert [v.path for v in resized.trainable_variables] == [v.path for v in model.trainable_variables]


def test_another_vocabulary_is_an_error(tokenizer):
    model = keras_bert.BertMaskedLM(keras_bert.BertConfig(vocab_size=8, **CONFIG), preprocessor=tokenizer)
    other = keras_bert.WordPieceTokenizer([*VOCABULARY[:6], "b", "a", "c"])
    with pytest.raises(ValueError, match="must keep the ids.*'b' as id 6, which is 'a'"):
        keras_bert.resize_token_embeddings(model, other)
    for other in (keras_bert.WordPieceTokenizer(VOCABULARY[:7]), keras_bert.WordPieceTokenizer(VOCABULARY, lowercase=False)):
        with pytest.raises(ValueError, match="must have the model's tokens and more"):
            keras_bert.resize_token_embeddings(model, other)
    with pytest.raises(TypeError, match="model must be a BertBackbone or a task model. Received: model=None"):
        keras_bert.resize_token_embeddings(None, tokenizer)
    with pytest.raises(TypeError, match="tokenizer must be a WordPieceTokenizer. Received: tokenizer=12"):
        keras_bert.resize_token_embeddings(model, 12)


def test_additional_special_tokens_are_saved(tokenizer, tmp_path):
    more = tokenizer.add_tokens(["[ENT]"], special=True)
    model = keras_bert.BertMaskedLM(keras_bert.BertConfig(vocab_size=8, **CONFIG), preprocessor=more)
    model.save_to_preset(tmp_path / "preset")
    again = keras_bert.BertMaskedLM.from_preset(tmp_path / "preset").preprocessor
    assert again("a [ENT]").numpy().tolist() == [6, 5]
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "preset")
    assert theirs("a [ENT]", add_special_tokens=False)["input_ids"] == [6, 5]
