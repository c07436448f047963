"""BERT for Keras 3, from raw text to a served model.

The names below are loaded when first used: importing the package loads neither Keras nor TensorFlow.
"""

import importlib

# Public name → the module that holds it.
_MODULES = {
    "BertBackbone": "keras_bert.models.backbone",
    "BertConfig": "keras_bert.config",
    "BertMaskedLM": "keras_bert.models.masked_lm",
    "BertPretrainer": "keras_bert.models.pretrainer",
    "DynamicMasking": "keras_bert.preprocessing.dynamic_masking",
    "PretrainingConfig": "keras_bert.pretraining",
    "SegmentPacker": "keras_bert.preprocessing.segment_packer",
    "WordPieceTokenizer": "keras_bert.preprocessing.wordpiece_tokenizer",
    "pretrain": "keras_bert.pretraining",
    "resize_token_embeddings": "keras_bert.models.resizing",
}

__all__ = [*_MODULES, "__version__"]


def __getattr__(name):
    if name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # found without this function from now on
    return value


def __dir__():
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("keras3-bert")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
