"""Named arrays ↔ a model's weights, and the two verbs of presets that every model shares."""

import os
import warnings

import keras
import numpy as np

from keras_bert.preprocessing.wordpiece_tokenizer import WordPieceTokenizer
from keras_bert.presets import Preset, write_huggingface

# Parts of a model that a directory may lack (they start fresh) or have in excess (they are dropped).
HEADS = ("pooler", "mlm_head", "nsp_head")


def model_arrays(model: keras.Model) -> dict[str, np.ndarray]:
    """The model's weights as float32 arrays by variable path, frozen ones included; neither metrics nor seeds."""
    return {path: keras.ops.convert_to_numpy(keras.ops.cast(v, "float32")) for path, v in _variables(model).items()}


def load_arrays(model: keras.Model, arrays: dict[str, np.ndarray]) -> None:
    """Assigns arrays to the model's weights by variable path; all are checked before the first is assigned.

    Raises:
        ValueError: listing all arrays that are missing, surplus or of another shape.
    """
    variables = _variables(model)
    lines = [f"missing: {path} {tuple(v.shape)}" for path, v in variables.items() if path not in arrays]
    lines += [f"surplus: {path} {np.shape(array)}" for path, array in arrays.items() if path not in variables]
    lines += [
        f"misshapen: {path}, expected {tuple(v.shape)}. Received: {np.shape(arrays[path])}"
        for path, v in variables.items()
        if path in arrays and np.shape(arrays[path]) != tuple(v.shape)
    ]
    if lines:
        raise ValueError(
            f"The arrays do not fit the model {model.name}. Build it with the configuration they were saved with.\n  " + "\n  ".join(lines)
        )
    for path, variable in variables.items():
        variable.assign(arrays[path])


def load_preset(model: keras.Model, preset: Preset, source: str | os.PathLike) -> None:
    """Loads what a preset and a model have in common: the encoder always, heads where both have them.

    Warns, in one line, when a head of the model is not in the preset and so keeps its initial weights.
    """
    own = model_arrays(model)
    ours, theirs = ({path.split("/")[0] for path in arrays} for arrays in (own, preset.arrays))
    arrays = {path: array for path, array in preset.arrays.items() if path.split("/")[0] not in set(HEADS) - ours}
    fresh = [head for head in HEADS if head in ours - theirs]
    arrays.update({path: array for path, array in own.items() if path.split("/")[0] in fresh})
    load_arrays(model, arrays)
    if fresh:
        warnings.warn(f"{source} has no {', no '.join(fresh)}: newly initialised, to be trained before use.", stacklevel=3)


def preset_tokenizer(preset: Preset, **options) -> WordPieceTokenizer | None:
    """The tokenizer of a preset, or `None` when it has no vocabulary."""
    if preset.vocabulary is None:
        return None
    specials = preset.additional_special_tokens
    return WordPieceTokenizer(preset.vocabulary, preset.lowercase, additional_special_tokens=specials, **options)


def save_preset(directory: str | os.PathLike, model: keras.Model, config, tokenizer, architecture: str) -> None:
    """Writes a model, and its tokenizer unless None, as a Hugging Face directory."""
    keys = ("vocabulary", "lowercase", "additional_special_tokens")
    text = {} if tokenizer is None else {key: getattr(tokenizer, key) for key in keys}
    write_huggingface(directory, Preset(config=config, arrays=model_arrays(model), **text), [architecture])


def _variables(model):
    # `weights` also holds what is frozen at the moment, which `trainable_variables` does not.
    variables = {variable.path: variable for variable in model.weights}
    if len(variables) != len(model.weights):
        raise ValueError(f"Two weights of {model.name} have the same path. Give its layers different names.")
    return variables
