import json
import shutil

import numpy as np
import pytest

from keras_bert.presets import read_google, read_preset, write_huggingface


def test_the_original_layout_becomes_ours_and_back_to_the_bit(shared, tmp_path):
    tf = pytest.importorskip("tensorflow")
    source = shared / "golden" / "google_tiny"
    preset = read_preset(source)
    # "gelu" is the tanh form there.
    assert preset.config.hidden_act == "gelu_new"
    assert preset.lowercase
    assert preset.vocabulary == (source / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    reader = tf.train.load_checkpoint(str(source / "bert_model.ckpt"))
    columns = [reader.get_tensor(f"bert/encoder/layer_1/attention/self/{part}/kernel") for part in ("query", "key", "value")]
    np.testing.assert_array_equal(preset.arrays["encoder_layer_1/attention/query_key_value/kernel"], np.concatenate(columns, 1))
    np.testing.assert_array_equal(preset.arrays["nsp_head/kernel"], reader.get_tensor("cls/seq_relationship/output_weights").T)
    write_huggingface(tmp_path / "model", preset, ["BertForPreTraining"])
    again = read_preset(tmp_path / "model")
    assert (again.config, again.vocabulary, again.lowercase) == (preset.config, preset.vocabulary, preset.lowercase)
    assert again.arrays.keys() == preset.arrays.keys()
    for path, array in preset.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[path], err_msg=path)


def test_optimizer_slots_are_skipped_and_other_tensors_are_not(shared, tmp_path):
    tf = pytest.importorskip("tensorflow")
    source = shared / "golden" / "google_tiny"
    reader = tf.train.load_checkpoint(str(source / "bert_model.ckpt"))
    tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    slots = {f"{name}/{slot}": tensor for name, tensor in tensors.items() for slot in ("adam_m", "adam_v")}
    config = json.loads((source / "bert_config.json").read_text()) | {"directionality": "bidi"}

    def write(tensors):
        shutil.rmtree(tmp_path, ignore_errors=True)
        tmp_path.mkdir()
        (tmp_path / "bert_config.json").write_text(json.dumps(config))
        names = sorted(tensors)
        values = [tf.constant(tensors[name]) for name in names]
        tf.raw_ops.SaveV2(prefix=str(tmp_path / "bert_model.ckpt"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=values)

    write(tensors | slots | {"global_step": np.int64(7)})
    assert read_google(tmp_path).arrays.keys() == read_google(source).arrays.keys()
    write(tensors | {"output_weights": np.zeros((3, 48), "float32")})
    with pytest.raises(ValueError, match=r"unknown: output_weights \(3, 48\)"):
        read_preset(tmp_path)
    config["embedding_size"] = 48
    write(tensors)
    with pytest.raises(ValueError, match="bert_config.json: Unknown configuration keys: embedding_size"):
        read_preset(tmp_path)
