"""A model for a larger vocabulary."""

import keras
import numpy as np

from keras_bert.models.backbone import BertBackbone
from keras_bert.models.weights import load_arrays, model_arrays
from keras_bert.preprocessing.wordpiece_tokenizer import WordPieceTokenizer

_BY_PIECE = ("token_embedding/embeddings", "mlm_head/bias")  # the first axis counts pieces


def resize_token_embeddings(model: keras.Model, tokenizer: WordPieceTokenizer) -> keras.Model:
    """A model like `model`, with its weights, for a tokenizer that has more tokens (see `WordPieceTokenizer.add_tokens`).

    The rows of the new tokens start as the mean of the others, so that no new token is likelier than the known ones on
    average (Hewitt, 2021). The new model is not compiled; `model` stays as it is.

    Args:
        model: a `BertBackbone` or a task model.
        tokenizer: the new tokenizer, which also becomes the task model's preprocessor.

    Raises:
        ValueError: when the vocabulary begins with other tokens than the model's own preprocessor.
    """
    if not isinstance(tokenizer, WordPieceTokenizer):
        raise TypeError(f"tokenizer must be a WordPieceTokenizer. Received: tokenizer={tokenizer!r}")
    backbone = model if isinstance(model, BertBackbone) else model.backbone
    rows = max(backbone.config.vocab_size, tokenizer.vocabulary_size())
    _check_same_start(getattr(model, "preprocessor", None), tokenizer)

    encoder = backbone.get_config()
    resized = new = BertBackbone.from_config({**encoder, "config": {**encoder["config"], "vocab_size": rows}})
    if model is not backbone:
        parts = {"config_or_backbone": new, "preprocessor": tokenizer}
        parts = {key: keras.saving.serialize_keras_object(part) for key, part in parts.items()}
        resized = type(model).from_config({**model.get_config(), **parts})
    arrays = model_arrays(model)
    for path in _BY_PIECE:
        if path in arrays:
            old = arrays[path]
            arrays[path] = np.concatenate([old, np.repeat(old.mean(axis=0, keepdims=True), rows - len(old), axis=0)])
    load_arrays(resized, arrays)
    return resized


def _check_same_start(old, new) -> None:
    for id, (before, after) in enumerate(zip(old.vocabulary if old else (), new.vocabulary, strict=False)):
        if before != after and not before.startswith("[unused"):
            raise ValueError(
                f"The tokenizer must keep the ids of the model's tokens. Received: {after!r} as id {id}, which is {before!r} in the "
                "model's preprocessor. Make it with model.preprocessor.add_tokens(...)."
            )
