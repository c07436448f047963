"""A model for a larger vocabulary."""

import keras
import numpy as np

from keras_bert.models.backbone import BertBackbone
from keras_bert.models.weights import load_arrays, model_arrays
from keras_bert.preprocessing.wordpiece_tokenizer import WordPieceTokenizer

_BY_PIECE = ("token_embedding/embeddings", "mlm_head/bias")  # the first axis counts pieces


def resize_token_embeddings(model: keras.Model, tokenizer: WordPieceTokenizer) -> keras.Model:
    """A model like `model`, with its weights, for a tokenizer that has more tokens (see `WordPieceTokenizer.add_tokens`).

    The rows of the new tokens, those that take an `[unused…]` slot of the model's preprocessor too, start as the mean of
    the others, so that no new token is likelier than the known ones on average (Hewitt, 2021). The new model is not
    compiled; `model` stays as it is.

    Args:
        model: a `BertBackbone` or a task model.
        tokenizer: the new tokenizer, which also becomes the task model's preprocessor.

    Raises:
        TypeError: for a model or a tokenizer of another kind.
        ValueError: when the tokenizer lacks tokens of the model's own preprocessor, or treats case differently.
    """
    if not isinstance(model if isinstance(model, BertBackbone) else getattr(model, "backbone", None), BertBackbone):
        raise TypeError(f"model must be a BertBackbone or a task model. Received: model={model!r}")
    if not isinstance(tokenizer, WordPieceTokenizer):
        raise TypeError(f"tokenizer must be a WordPieceTokenizer. Received: tokenizer={tokenizer!r}")
    backbone = model if isinstance(model, BertBackbone) else model.backbone
    rows = max(backbone.config.vocab_size, tokenizer.vocabulary_size())
    new_ids = _new_ids(getattr(model, "preprocessor", None), tokenizer, backbone.config.vocab_size)

    encoder = backbone.get_config()
    resized = new = BertBackbone.from_config({**encoder, "config": {**encoder["config"], "vocab_size": rows}})
    if model is not backbone:
        parts = {"config_or_backbone": new, "preprocessor": tokenizer}
        parts = {key: keras.saving.serialize_keras_object(part) for key, part in parts.items()}
        resized = type(model).from_config({**model.get_config(), **parts})
    arrays = model_arrays(model)
    for path in _BY_PIECE:
        if path in arrays:
            mean = np.delete(arrays[path], [id for id in new_ids if id < len(arrays[path])], axis=0).mean(axis=0)
            arrays[path] = np.resize(arrays[path], (rows, *arrays[path].shape[1:]))
            arrays[path][new_ids] = mean
    load_arrays(resized, arrays)
    trainable = {variable.path: variable.trainable for variable in model.weights}
    for variable in resized.weights:
        variable.trainable = trainable[variable.path]
    return resized


def _new_ids(old, new, rows: int) -> list[int]:
    """The ids whose tokens are not those of the tokenizer `old`, or, without one, those that the model has no rows for."""
    if old is None:
        return list(range(rows, new.vocabulary_size()))
    if new.lowercase != old.lowercase or new.vocabulary_size() < old.vocabulary_size():
        raise ValueError(
            f"The tokenizer must have the model's tokens and more: {old.vocabulary_size()} with lowercase={old.lowercase}. Received: "
            f"{new.vocabulary_size()} with lowercase={new.lowercase}. Make it with model.preprocessor.add_tokens(...)."
        )
    changed = [id for id, (before, after) in enumerate(zip(old.vocabulary, new.vocabulary, strict=False)) if before != after]
    for id in changed:
        if not old.vocabulary[id].startswith("[unused"):
            raise ValueError(
                f"The tokenizer must keep the ids of the model's tokens. Received: {new.vocabulary[id]!r} as id {id}, which is "
                f"{old.vocabulary[id]!r} in the model's preprocessor. Make it with model.preprocessor.add_tokens(...)."
            )
    return changed + list(range(old.vocabulary_size(), new.vocabulary_size()))
