import json
import os

import numpy as np
import pytest

from keras_bert.config import BertConfig
from keras_bert.presets import Preset, huggingface, read_huggingface, read_preset, weight_names, write_huggingface
from keras_bert.presets.weight_names import to_ours, to_theirs

# Every size is another number, so that no axis can be taken for another one.
CONFIG = BertConfig(
    vocab_size=23,
    hidden_size=14,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=11,
    max_position_embeddings=17,
    type_vocab_size=3,
)
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "\u2028", "é"]


def a_preset(without=(), **settings):
    random = np.random.default_rng(5)
    arrays = {}
    for row, shape in weight_names._expand(huggingface.ROWS, CONFIG):
        if not row.ours.startswith(tuple(without)):
            arrays[row.ours] = random.normal(size=shape).astype("float32")
    return Preset(config=CONFIG, arrays=arrays, **settings)


def assert_equal(one: Preset, other: Preset):
    assert one.config == other.config
    assert (one.vocabulary, one.lowercase) == (other.vocabulary, other.lowercase)
    assert one.arrays.keys() == other.arrays.keys()
    for path, array in one.arrays.items():
        assert array.dtype == other.arrays[path].dtype == np.float32
        np.testing.assert_array_equal(array, other.arrays[path], err_msg=path)


@pytest.mark.parametrize(
    "architecture, without",
    [("BertForPreTraining", ()), ("BertForMaskedLM", ("pooler", "nsp_head")), ("BertModel", ("mlm_head", "nsp_head"))],
)
@pytest.mark.parametrize("text", [{}, {"vocabulary": VOCABULARY, "lowercase": False}])
def test_a_written_directory_reads_back_to_the_bit(tmp_path, architecture, without, text):
    preset = a_preset(without, **text)
    write_huggingface(tmp_path / "a" / "b", preset, [architecture])
    assert_equal(preset, read_preset(tmp_path / "a" / "b"))
    assert os.listdir(tmp_path / "a") == ["b"]
    assert (tmp_path / "a" / "b" / "vocab.txt").exists() == bool(text)


@pytest.mark.parametrize("name", ["pretraining", "encoder_gelu_new"])
def test_a_directory_of_transformers_survives_the_round_trip(shared, tmp_path, name):
    safetensors = pytest.importorskip("safetensors.numpy")
    source = shared / "golden" / "hf_tiny" / name
    preset = read_preset(source)
    write_huggingface(tmp_path / name, preset, json.loads((source / "config.json").read_text())["architectures"])
    before, after = (safetensors.load_file(directory / "model.safetensors") for directory in (source, tmp_path / name))
    assert before.keys() == after.keys()
    for key, tensor in before.items():
        np.testing.assert_array_equal(tensor, after[key], err_msg=key)
    assert preset.config.hidden_act == ("gelu_new" if name == "encoder_gelu_new" else "gelu")
    assert preset.config.layer_norm_eps == (1e-6 if name == "encoder_gelu_new" else 1e-12)


def test_old_names_second_names_and_buffers_are_understood():
    preset = a_preset()
    tensors = to_theirs(huggingface.ROWS, preset.arrays, CONFIG)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in tensors.items()
    }
    old["bert.embeddings.position_ids"] = np.arange(17)[None]
    old["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"]
    old["cls.predictions.decoder.bias"] = old.pop("cls.predictions.bias")
    arrays = to_ours(huggingface.ROWS, huggingface._canonical(old, "file"), CONFIG, "file")
    assert_equal(preset, Preset(config=CONFIG, arrays=arrays))
    old["cls.predictions.decoder.weight"] = old["cls.predictions.decoder.weight"] + 1
    with pytest.raises(ValueError, match="decoder.weight must equal bert.embeddings.word_embeddings.weight"):
        huggingface._canonical(old, "file")


def test_half_precision_is_read_as_float32(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    safetensors = pytest.importorskip("safetensors.numpy")
    preset = a_preset()
    tensors = to_theirs(huggingface.ROWS, preset.arrays, CONFIG)
    write_huggingface(tmp_path / "model", preset, ["BertForPreTraining"])
    for dtype in (ml_dtypes.bfloat16, np.float16):
        safetensors.save_file({name: tensor.astype(dtype) for name, tensor in tensors.items()}, tmp_path / "model" / "model.safetensors")
        rounded = {path: array.astype(dtype).astype("float32") for path, array in preset.arrays.items()}
        assert_equal(Preset(config=CONFIG, arrays=rounded), read_preset(tmp_path / "model"))


def test_all_that_does_not_fit_is_listed_in_one_error():
    tensors = to_theirs(huggingface.ROWS, a_preset().arrays, CONFIG)
    del tensors["bert.encoder.layer.1.attention.self.key.weight"], tensors["cls.seq_relationship.bias"]
    tensors["classifier.weight"] = np.zeros((3, 14))
    tensors["bert.encoder.layer.0.intermediate.dense.weight"] = np.zeros((14, 11))
    with pytest.raises(ValueError) as error:
        to_ours(huggingface.ROWS, tensors, CONFIG, "the file")
    message = str(error.value)
    assert message.startswith("the file")
    assert "missing: bert.encoder.layer.1.attention.self.key.weight (14, 14)" in message
    assert "missing: cls.seq_relationship.bias (2,)" in message
    assert "unknown: classifier.weight (3, 14)" in message
    assert "misshapen: bert.encoder.layer.0.intermediate.dense.weight, expected (11, 14). Received: (14, 11)" in message
    assert message.count("\n") == 4


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    first, second = a_preset(vocabulary=VOCABULARY), a_preset(("nsp_head",))
    write_huggingface(tmp_path / "model", first, ["BertForPreTraining"])
    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(huggingface, "write_json", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        write_huggingface(tmp_path / "model", second, ["BertForMaskedLM"])
    assert_equal(first, read_preset(tmp_path / "model"))
    assert os.listdir(tmp_path) == ["model"]
    write_huggingface(tmp_path / "model", second, ["BertForMaskedLM"])
    assert_equal(second, read_preset(tmp_path / "model"))
    assert sorted(os.listdir(tmp_path / "model")) == ["config.json", "model.safetensors"]
    assert os.listdir(tmp_path) == ["model"]


def test_a_directory_with_other_files_is_refused_and_kept(tmp_path):
    write_huggingface(tmp_path / "model", a_preset(), ["BertForPreTraining"])
    (tmp_path / "model" / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="thesis.tex"):
        write_huggingface(tmp_path / "model", a_preset(), ["BertForPreTraining"])
    with pytest.raises(FileExistsError, match="the file"):
        write_huggingface(tmp_path / "model" / "thesis.tex", a_preset(), ["BertForPreTraining"])
    assert (tmp_path / "model" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"model_type": "roberta"}, "model_type must be 'bert'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
        ({"is_decoder": True}, "is_decoder must be False"),
        ({"hidden_act": "silu"}, "config.json: hidden_act must be one of"),
        ({"num_hidden_layers": 3}, "missing: bert.encoder.layer.2"),
    ],
)
def test_a_configuration_of_another_network_is_refused(tmp_path, change, message):
    write_huggingface(tmp_path / "model", a_preset(), ["BertForPreTraining"])
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"use_cache": True} | change))
    with pytest.raises(ValueError, match=message):
        read_huggingface(tmp_path / "model")


def test_what_is_no_model_directory_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_preset(tmp_path / "nowhere")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="model.safetensors, or bert_config.json with .*holds pytorch_model.bin. Pickled"):
        read_preset(tmp_path)


def test_transformers_loads_ours_without_missing_or_unexpected_weights(tmp_path):
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    preset = a_preset()
    # transformers ends a line of vocab.txt at U+2028 too.
    vocabulary = [*VOCABULARY[:7], "c", "é"]
    for architecture, without in {
        "BertForPreTraining": (),
        "BertForMaskedLM": ("pooler", "nsp_head"),
        "BertModel": ("mlm_head", "nsp_head"),
    }.items():
        directory = tmp_path / architecture
        kept = {path: array for path, array in preset.arrays.items() if not path.startswith(tuple(without))}
        write_huggingface(directory, Preset(config=CONFIG, arrays=kept, vocabulary=vocabulary, lowercase=False), [architecture])
        model, info = getattr(transformers, architecture).from_pretrained(directory, output_loading_info=True)
        assert not any(info.values()), info
        assert model.config.hidden_act == "gelu_new"
        model.save_pretrained(tmp_path / "theirs")
        assert_equal(Preset(config=CONFIG, arrays=kept), read_preset(tmp_path / "theirs"))
    # The fullest directory serves all three classes.
    for architecture in ("BertForMaskedLM", "BertModel"):
        _, info = getattr(transformers, architecture).from_pretrained(tmp_path / "BertForPreTraining", output_loading_info=True)
        assert not info["missing_keys"], info
    tokenizer = transformers.BertTokenizer.from_pretrained(tmp_path / "BertForPreTraining")
    assert tokenizer("ab [MASK] É é").input_ids == [2, 5, 6, 4, 1, 8, 3]
    assert tokenizer.model_max_length == 17
    tokenizer.save_pretrained(tmp_path / "theirs")
    theirs = read_preset(tmp_path / "theirs")
    assert (theirs.vocabulary, theirs.lowercase) == (vocabulary, False)


def test_the_folder_of_a_run_points_to_its_preset(tmp_path):
    (tmp_path / "preset").mkdir()
    (tmp_path / "preset" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="The model of this run is in .*preset"):
        read_preset(tmp_path)
