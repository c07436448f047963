"""Recognises the layout of a model directory."""

import os
import pathlib

from keras_bert.presets.google import read_google
from keras_bert.presets.huggingface import read_huggingface
from keras_bert.presets.preset import Preset

# The files that tell a layout, and its reader.
_LAYOUTS = (
    (("config.json", "model.safetensors"), read_huggingface),
    (("bert_config.json", "bert_model.ckpt.index"), read_google),
)


def read_preset(directory: str | os.PathLike) -> Preset:
    """Reads a model directory in any known layout.

    Args:
        directory: a directory in the layout of Hugging Face (ours too) or of the original BERT code.

    Raises:
        FileNotFoundError: when there is no such directory.
        ValueError: when it is of no known layout, or its files do not fit together.
    """
    directory = pathlib.Path(directory)
    if not directory.is_dir():
        problem = "is a file" if directory.exists() else "does not exist"
        raise FileNotFoundError(f"Expected a model directory. Received: directory={str(directory)!r}, which {problem}. Check the path.")
    for files, reader in _LAYOUTS:
        if all((directory / file).is_file() for file in files):
            return reader(directory)
    looked_for = ", or ".join(" with ".join(files) for files, _ in _LAYOUTS)
    found = sorted(path.name for path in directory.iterdir())
    remedy = "Check the path."
    if any(name.endswith((".bin", ".pt", ".pth")) for name in found):
        remedy = "Pickled weights are never read; convert them to model.safetensors."
    elif (directory / "preset" / "config.json").is_file():
        remedy = f"The model of this run is in {directory / 'preset'}."
    raise ValueError(
        f"Expected {looked_for}. Received: directory={str(directory)!r}, which holds {', '.join(found[:20]) or 'nothing'}. {remedy}"
    )
