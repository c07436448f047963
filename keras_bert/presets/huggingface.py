"""Hugging Face's layout, which is ours too: `config.json`, `vocab.txt`, `tokenizer_config.json`, `model.safetensors`."""

import os
import pathlib
import shutil

import numpy as np

from keras_bert.config import BertConfig
from keras_bert.presets.files import read_json, read_lines, replaced_directory, write_json
from keras_bert.presets.preset import Preset
from keras_bert.presets.weight_names import Row, to_ours, to_theirs

_LAYER = "bert.encoder.layer.{i}"
_SELF = f"{_LAYER}.attention.self"

ROWS = [
    Row("token_embedding/embeddings", ("bert.embeddings.word_embeddings.weight",)),
    Row("embeddings/position_embeddings", ("bert.embeddings.position_embeddings.weight",)),
    Row("embeddings/segment_embeddings", ("bert.embeddings.token_type_embeddings.weight",)),
    Row("embeddings/layer_norm/gamma", ("bert.embeddings.LayerNorm.weight",)),
    Row("embeddings/layer_norm/beta", ("bert.embeddings.LayerNorm.bias",)),
    Row(
        "encoder_layer_{i}/attention/query_key_value/kernel",
        (f"{_SELF}.query.weight", f"{_SELF}.key.weight", f"{_SELF}.value.weight"),
        transposed=True,
    ),
    Row(
        "encoder_layer_{i}/attention/query_key_value/bias",
        (f"{_SELF}.query.bias", f"{_SELF}.key.bias", f"{_SELF}.value.bias"),
    ),
    Row("encoder_layer_{i}/attention/output_projection/kernel", (f"{_LAYER}.attention.output.dense.weight",), transposed=True),
    Row("encoder_layer_{i}/attention/output_projection/bias", (f"{_LAYER}.attention.output.dense.bias",)),
    Row("encoder_layer_{i}/attention_layer_norm/gamma", (f"{_LAYER}.attention.output.LayerNorm.weight",)),
    Row("encoder_layer_{i}/attention_layer_norm/beta", (f"{_LAYER}.attention.output.LayerNorm.bias",)),
    Row("encoder_layer_{i}/intermediate/kernel", (f"{_LAYER}.intermediate.dense.weight",), transposed=True),
    Row("encoder_layer_{i}/intermediate/bias", (f"{_LAYER}.intermediate.dense.bias",)),
    Row("encoder_layer_{i}/output_projection/kernel", (f"{_LAYER}.output.dense.weight",), transposed=True),
    Row("encoder_layer_{i}/output_projection/bias", (f"{_LAYER}.output.dense.bias",)),
    Row("encoder_layer_{i}/output_layer_norm/gamma", (f"{_LAYER}.output.LayerNorm.weight",)),
    Row("encoder_layer_{i}/output_layer_norm/beta", (f"{_LAYER}.output.LayerNorm.bias",)),
    Row("pooler/dense/kernel", ("bert.pooler.dense.weight",), transposed=True),
    Row("pooler/dense/bias", ("bert.pooler.dense.bias",)),
    Row("mlm_head/transform/kernel", ("cls.predictions.transform.dense.weight",), transposed=True),
    Row("mlm_head/transform/bias", ("cls.predictions.transform.dense.bias",)),
    Row("mlm_head/layer_norm/gamma", ("cls.predictions.transform.LayerNorm.weight",)),
    Row("mlm_head/layer_norm/beta", ("cls.predictions.transform.LayerNorm.bias",)),
    Row("mlm_head/bias", ("cls.predictions.bias",)),
    Row("nsp_head/kernel", ("cls.seq_relationship.weight",), transposed=True),
    Row("nsp_head/bias", ("cls.seq_relationship.bias",)),
]

_PREFIX = "bert."
# Buffers that hold no weights.
_IGNORED = ("bert.embeddings.position_ids",)
# Second names of weights, in files that hold them twice.
_TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}

# What transformers assumes for a key that the file lacks, where we assume something else.
_DEFAULTS = {"hidden_act": "gelu", "intermediate_size": 3072}
_ACTIVATIONS = {"gelu_pytorch_tanh": "gelu_new"}
# Keys with which the network would be another one than ours, and the value that makes it ours.
_FIXED = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}

_SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
_WRITTEN = {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"}
# Derived from vocab.txt by other programs; would contradict a new one.
_REPLACEABLE = _WRITTEN | {"tokenizer.json", "special_tokens_map.json"}


def read_huggingface(directory: str | os.PathLike) -> Preset:
    """Reads a directory that `write_huggingface` or transformers wrote. Pickled weights are never read.

    Raises:
        ImportError: when safetensors is not installed.
        ValueError: when the configuration is not one of BERT, the weights do not fit it, or the text settings are ones
            that our tokenizer does not have.
    """
    directory = pathlib.Path(directory)
    config = _read_config(directory / "config.json")
    path = directory / "model.safetensors"
    arrays = to_ours(ROWS, _canonical(_read_tensors(path), path), config, str(path))
    return Preset(config=config, arrays=arrays, **_read_text_settings(directory))


def write_huggingface(directory: str | os.PathLike, preset: Preset, architectures: list[str]) -> None:
    """Writes a directory that transformers and KerasHub read, whole or not at all.

    Args:
        directory: new, empty, or a model directory, which is replaced.
        preset: what to write; without a vocabulary, no tokenizer files.
        architectures: the transformers class that the directory is for, such as `["BertForMaskedLM"]`.

    Raises:
        FileExistsError: when `directory` holds anything but a saved model.
        ImportError: when safetensors is not installed.
        ValueError: when the arrays do not fit the configuration, or a piece has a line end in it.
    """
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(f"Writing {directory} needs safetensors. Install it: pip install safetensors") from error
    broken = [piece for piece in preset.vocabulary or () if "\n" in piece or piece.endswith("\r")]
    if broken:
        raise ValueError(f"A piece must fit on one line of vocab.txt. Received: {broken[0]!r}. Remove its line end.")
    tensors = to_theirs(ROWS, preset.arrays, preset.config)
    if architectures == ["BertModel"]:
        tensors = {name.removeprefix(_PREFIX): tensor for name, tensor in tensors.items()}
    vocabulary = preset.vocabulary
    config = {
        **preset.config.to_dict(),
        "architectures": architectures,
        "model_type": "bert",
        "pad_token_id": vocabulary.index("[PAD]") if vocabulary and "[PAD]" in vocabulary else 0,
        "tie_word_embeddings": True,
    }
    with replaced_directory(directory, _REPLACEABLE) as new:
        write_json(new / "config.json", config)
        # The metadata tells transformers that the tensors lie as PyTorch's do.
        safetensors.numpy.save_file(tensors, new / "model.safetensors", metadata={"format": "pt"})
        # It comes out readable by its owner alone; a server that runs as another user has to read it.
        shutil.copymode(new / "config.json", new / "model.safetensors")
        if vocabulary is not None:
            (new / "vocab.txt").write_bytes("".join(piece + "\n" for piece in vocabulary).encode("utf-8"))
            settings = {
                "do_lower_case": preset.lowercase,
                "model_max_length": preset.config.max_position_embeddings,
                "strip_accents": None,
                "tokenize_chinese_chars": True,
                "tokenizer_class": "BertTokenizer",
            }
            special: dict = {key: token for key, token in _SPECIAL_TOKENS.items() if token in vocabulary}
            if preset.additional_special_tokens:
                special["additional_special_tokens"] = list(preset.additional_special_tokens)
            write_json(new / "tokenizer_config.json", settings | special)


def _read_config(path):
    values = read_json(path)
    for key, expected in {"model_type": "bert", **_FIXED}.items():
        absent = key in _FIXED and values.get(key) is None
        if not absent and values.get(key) != expected:
            raise ValueError(f"{path}: {key} must be {expected!r}. Received: {key}={values.get(key)!r}. The model is not a BERT encoder.")
    values = _DEFAULTS | values
    values["hidden_act"] = _ACTIVATIONS.get(values["hidden_act"], values["hidden_act"])
    known = BertConfig().to_dict()
    try:
        return BertConfig.from_dict({key: value for key, value in values.items() if key in known})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read_tensors(path):
    try:
        import ml_dtypes  # noqa: F401 - teaches numpy bfloat16, in which some files are
        import safetensors
    except ImportError as error:
        raise ImportError(f"Reading {path} needs safetensors and ml_dtypes. Install them: pip install safetensors ml_dtypes") from error
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} must be a safetensors file. Received: {error}. Download or save it again.") from None


def _canonical(tensors, path):
    """The tensors under the names of `ROWS`: with the prefix, without second and old names."""
    canonical = {}
    for name, tensor in tensors.items():
        new = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        if new.split(".")[0] in ("embeddings", "encoder", "pooler"):
            new = _PREFIX + new
        if new in canonical:
            raise ValueError(f"{path} must hold each tensor once. Received: {name}, and another one that means {new}.")
        if new not in _IGNORED:
            canonical[new] = tensor
    for second, first in _TIED.items():
        tensor = canonical.pop(second, None)
        # Our projection is the token table itself: a model that learned two of them would be changed silently.
        if tensor is not None and not np.array_equal(tensor, canonical.setdefault(first, tensor)):
            raise ValueError(f"{path}: {second} must equal {first} (tied weights). Received: different values, which have no place here.")
    return canonical


def _read_text_settings(directory):
    """The fields of a `Preset` that concern text."""
    path = directory / "tokenizer_config.json"
    settings = read_json(path) if path.is_file() else {}
    specials = settings.get("additional_special_tokens") or settings.get("extra_special_tokens") or ()
    vocabulary = None
    if (directory / "vocab.txt").is_file():
        vocabulary = read_lines(directory / "vocab.txt")
    elif (directory / "tokenizer.json").is_file():
        # All that recent versions of transformers write.
        path = directory / "tokenizer.json"
        values = read_json(path)
        vocabulary = _tokenizer_json_vocabulary(values.get("model"), path)
        normalizer = values.get("normalizer") or {}
        names = {"do_lower_case": "lowercase", "strip_accents": "strip_accents", "tokenize_chinese_chars": "handle_chinese_chars"}
        settings = {ours: normalizer[theirs] for ours, theirs in names.items() if theirs in normalizer}
    lowercase = settings.get("do_lower_case", True)
    fixed = {"strip_accents": lowercase, "tokenize_chinese_chars": True}
    for key, expected in fixed.items():
        if vocabulary is not None and settings.get(key) not in (None, expected):
            raise ValueError(
                f"{path}: {key} must be {expected} when lower-casing is {lowercase}, as in the original tokenizer. "
                f"Received: {key}={settings[key]}. Other settings would change the tokens."
            )
    specials = [token.get("content") if isinstance(token, dict) else token for token in specials]  # as transformers writes them
    known = set(vocabulary or ()).difference(_SPECIAL_TOKENS.values())
    return {
        "vocabulary": vocabulary,
        "lowercase": lowercase,
        "additional_special_tokens": tuple(token for token in specials if token in known),
    }


def _tokenizer_json_vocabulary(model, path):
    if not isinstance(model, dict) or model.get("type") != "WordPiece" or not isinstance(model.get("vocab"), dict):
        kind = model.get("type") if isinstance(model, dict) else model
        raise ValueError(f"{path} must hold a WordPiece vocabulary. Received: model type {kind!r}")
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    if [model["vocab"][piece] for piece in pieces] != list(range(len(pieces))):
        raise ValueError(f"{path} must number its {len(pieces)} pieces from 0 without gaps.")
    return pieces
