"""Checkpoints: everything that changes during training, in one file, written beside and renamed.

A checkpoint holds the model's weights and random state, its running metrics, the optimizer and a dictionary of plain
values such as the step. Data needs nothing: batches are a function of the step.
"""

import json
import os

import numpy as np


def training_variables(model) -> list:
    """All variables of a compiled and built model that training changes, each once."""
    variables = [*model.trainable_variables, *model.non_trainable_variables, *model.metrics_variables, *model.optimizer.variables]
    return list({id(variable): variable for variable in variables}.values())


def snapshot(model) -> list[np.ndarray]:
    """A copy of every training variable."""
    import keras

    return [np.array(keras.ops.convert_to_numpy(variable)) for variable in training_variables(model)]


def restore(model, arrays: list[np.ndarray]) -> None:
    """Assigns what `snapshot` returned."""
    variables = training_variables(model)
    shapes = [tuple(array.shape) for array in arrays]
    expected = [tuple(variable.shape) for variable in variables]
    if shapes != expected:
        raise ValueError(
            f"The checkpoint belongs to another model: expected {len(expected)} variables. Received: {len(shapes)}, "
            f"{sum(a != b for a, b in zip(shapes, expected, strict=False))} of them of another shape."
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)


def save_checkpoint(path: str, arrays: list[np.ndarray], values: dict) -> None:
    """Writes arrays and JSON values to `path`, replacing it only when all is on disk."""
    from safetensors.numpy import save

    data = save({f"{i:05d}": array.copy() for i, array in enumerate(arrays)}, {"values": json.dumps(values)})
    write_atomically(path, data)


def load_checkpoint(path: str) -> tuple[list[np.ndarray], dict]:
    """Reads what `save_checkpoint` wrote; a damaged file raises `ValueError` that names it."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            values = json.loads(file.metadata()["values"])
            return [file.get_tensor(key) for key in sorted(file.keys())], values
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a whole checkpoint ({error}). Remove it to start from the beginning.") from None


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file beside `path`, flushes it to disk and renames it; on an error `path` stays as it was."""
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
