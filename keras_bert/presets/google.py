"""The layout of the original BERT code: `bert_config.json`, `bert_model.ckpt.*`, `vocab.txt`."""

import os
import pathlib

from keras_bert.config import BertConfig
from keras_bert.presets.files import read_json, read_lines
from keras_bert.presets.preset import Preset
from keras_bert.presets.weight_names import Row, to_ours

_LAYER = "bert/encoder/layer_{i}"
_SELF = f"{_LAYER}/attention/self"

ROWS = [
    Row("token_embedding/embeddings", ("bert/embeddings/word_embeddings",)),
    Row("embeddings/position_embeddings", ("bert/embeddings/position_embeddings",)),
    Row("embeddings/segment_embeddings", ("bert/embeddings/token_type_embeddings",)),
    Row("embeddings/layer_norm/gamma", ("bert/embeddings/LayerNorm/gamma",)),
    Row("embeddings/layer_norm/beta", ("bert/embeddings/LayerNorm/beta",)),
    Row(
        "encoder_layer_{i}/attention/query_key_value/kernel",
        (f"{_SELF}/query/kernel", f"{_SELF}/key/kernel", f"{_SELF}/value/kernel"),
    ),
    Row(
        "encoder_layer_{i}/attention/query_key_value/bias",
        (f"{_SELF}/query/bias", f"{_SELF}/key/bias", f"{_SELF}/value/bias"),
    ),
    Row("encoder_layer_{i}/attention/output_projection/kernel", (f"{_LAYER}/attention/output/dense/kernel",)),
    Row("encoder_layer_{i}/attention/output_projection/bias", (f"{_LAYER}/attention/output/dense/bias",)),
    Row("encoder_layer_{i}/attention_layer_norm/gamma", (f"{_LAYER}/attention/output/LayerNorm/gamma",)),
    Row("encoder_layer_{i}/attention_layer_norm/beta", (f"{_LAYER}/attention/output/LayerNorm/beta",)),
    Row("encoder_layer_{i}/intermediate/kernel", (f"{_LAYER}/intermediate/dense/kernel",)),
    Row("encoder_layer_{i}/intermediate/bias", (f"{_LAYER}/intermediate/dense/bias",)),
    Row("encoder_layer_{i}/output_projection/kernel", (f"{_LAYER}/output/dense/kernel",)),
    Row("encoder_layer_{i}/output_projection/bias", (f"{_LAYER}/output/dense/bias",)),
    Row("encoder_layer_{i}/output_layer_norm/gamma", (f"{_LAYER}/output/LayerNorm/gamma",)),
    Row("encoder_layer_{i}/output_layer_norm/beta", (f"{_LAYER}/output/LayerNorm/beta",)),
    Row("pooler/dense/kernel", ("bert/pooler/dense/kernel",)),
    Row("pooler/dense/bias", ("bert/pooler/dense/bias",)),
    Row("mlm_head/transform/kernel", ("cls/predictions/transform/dense/kernel",)),
    Row("mlm_head/transform/bias", ("cls/predictions/transform/dense/bias",)),
    Row("mlm_head/layer_norm/gamma", ("cls/predictions/transform/LayerNorm/gamma",)),
    Row("mlm_head/layer_norm/beta", ("cls/predictions/transform/LayerNorm/beta",)),
    Row("mlm_head/bias", ("cls/predictions/output_bias",)),
    Row("nsp_head/kernel", ("cls/seq_relationship/output_weights",), transposed=True),
    Row("nsp_head/bias", ("cls/seq_relationship/output_bias",)),
]

# Keys of the multilingual and Chinese models that the original code never reads.
_UNUSED_KEYS = {
    "directionality",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
}


def read_google(directory: str | os.PathLike) -> Preset:
    """Reads a directory of the original BERT code.

    The directory does not say whether the text is to be lower-cased; a vocabulary without a piece that holds one of the
    letters A to Z (special tokens aside) says so. The optimizer's variables are skipped.

    Raises:
        ImportError: when TensorFlow, which reads the checkpoint, is not installed.
        ValueError: when the configuration is not one of BERT, or the weights do not fit it.
    """
    directory = pathlib.Path(directory)
    path = directory / "bert_config.json"
    values = {key: value for key, value in read_json(path).items() if key not in _UNUSED_KEYS}
    # The original code computes the tanh form under the name "gelu"; it knows no "gelu_new".
    if values.get("hidden_act", "gelu") not in ("gelu", "relu"):
        raise ValueError(f"{path}: hidden_act must be gelu or relu. Received: hidden_act={values['hidden_act']!r}")
    values["hidden_act"] = {"gelu": "gelu_new", "relu": "relu"}[values.get("hidden_act", "gelu")]
    try:
        config = BertConfig.from_dict(values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    vocabulary_path = directory / "vocab.txt"
    vocabulary = read_lines(vocabulary_path) if vocabulary_path.is_file() else None
    checkpoint = directory / "bert_model.ckpt"
    return Preset(
        config=config,
        arrays=to_ours(ROWS, _read_checkpoint(checkpoint), config, str(checkpoint)),
        vocabulary=vocabulary,
        lowercase=vocabulary is None or not any(_has_capital(piece) for piece in vocabulary),
    )


def _read_checkpoint(path):
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(f"Reading {path} needs TensorFlow. Install it: pip install tensorflow") from error
    reader = tf.train.load_checkpoint(str(path))
    names = sorted(reader.get_variable_to_shape_map())
    return {name: reader.get_tensor(name) for name in names if name.split("/")[-1] not in ("adam_m", "adam_v", "global_step")}


def _has_capital(piece):
    return not piece.startswith("[") and any("A" <= character <= "Z" for character in piece)
