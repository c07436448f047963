"""Weights under our names ↔ weights under another layout's names, by one table per layout.

A table is a list of `Row`s. It is read from right to left to load and from left to right to save, and applied
strictly: whatever is missing, unknown or of another shape, on either side, is listed in one error.
"""

from typing import NamedTuple

import numpy as np

from keras_bert.config import BertConfig

# Shapes of our variables: V vocabulary, D hidden, F feed-forward, T positions, S segments, 2 next-sentence labels.
SHAPES = {
    "token_embedding/embeddings": "V D",
    "embeddings/position_embeddings": "T D",
    "embeddings/segment_embeddings": "S D",
    "embeddings/layer_norm/gamma": "D",
    "embeddings/layer_norm/beta": "D",
    "encoder_layer_{i}/attention/query_key_value/kernel": "D 3D",
    "encoder_layer_{i}/attention/query_key_value/bias": "3D",
    "encoder_layer_{i}/attention/output_projection/kernel": "D D",
    "encoder_layer_{i}/attention/output_projection/bias": "D",
    "encoder_layer_{i}/attention_layer_norm/gamma": "D",
    "encoder_layer_{i}/attention_layer_norm/beta": "D",
    "encoder_layer_{i}/intermediate/kernel": "D F",
    "encoder_layer_{i}/intermediate/bias": "F",
    "encoder_layer_{i}/output_projection/kernel": "F D",
    "encoder_layer_{i}/output_projection/bias": "D",
    "encoder_layer_{i}/output_layer_norm/gamma": "D",
    "encoder_layer_{i}/output_layer_norm/beta": "D",
    "pooler/dense/kernel": "D D",
    "pooler/dense/bias": "D",
    "mlm_head/transform/kernel": "D D",
    "mlm_head/transform/bias": "D",
    "mlm_head/layer_norm/gamma": "D",
    "mlm_head/layer_norm/beta": "D",
    "mlm_head/bias": "V",
    "nsp_head/kernel": "D 2",
    "nsp_head/bias": "2",
}

# What a file may lack, but only as a whole: the first part of the paths.
OPTIONAL_GROUPS = ("pooler", "mlm_head", "nsp_head")


class Row(NamedTuple):
    """One variable of ours, and the tensors it consists of there.

    Args:
        ours: path of the variable; `{i}` stands for the number of the encoder layer.
        theirs: names of the tensors; several are joined along our last axis, in this order.
        transposed: whether each of them is the transpose of its part of ours.
    """

    ours: str
    theirs: tuple[str, ...]
    transposed: bool = False


def to_ours(rows: list[Row], tensors: dict[str, np.ndarray], config: BertConfig, source: str) -> dict[str, np.ndarray]:
    """Float32 arrays by our paths, from tensors by their names.

    Raises:
        ValueError: listing all tensors that are missing, unknown or of another shape; `source` says where they are from.
    """
    table = _expand(rows, config)
    expected = {}
    for row, shape in table:
        part = (*shape[:-1], shape[-1] // len(row.theirs))
        expected.update({name: (_group(row.ours), part[::-1] if row.transposed else part) for name in row.theirs})
    _check(expected, tensors, source)
    arrays = {}
    for row, _ in table:
        if row.theirs[0] in tensors:
            parts = [np.asarray(tensors[name], dtype="float32") for name in row.theirs]
            joined = np.concatenate([part.T if row.transposed else part for part in parts], axis=-1)
            arrays[row.ours] = np.ascontiguousarray(joined)
    return arrays


def to_theirs(rows: list[Row], arrays: dict[str, np.ndarray], config: BertConfig) -> dict[str, np.ndarray]:
    """The inverse of `to_ours`, as strict."""
    table = _expand(rows, config)
    _check({row.ours: (_group(row.ours), shape) for row, shape in table}, arrays, "The model")
    tensors = {}
    for row, _ in table:
        if row.ours in arrays:
            parts = np.split(np.asarray(arrays[row.ours], dtype="float32"), len(row.theirs), axis=-1)
            for name, part in zip(row.theirs, parts, strict=True):
                tensors[name] = np.ascontiguousarray(part.T if row.transposed else part)
    return tensors


def _expand(rows, config):
    """The rows of all layers, each with the shape of our variable."""
    sizes = {
        "V": config.vocab_size,
        "D": config.hidden_size,
        "3D": 3 * config.hidden_size,
        "F": config.intermediate_size,
        "T": config.max_position_embeddings,
        "S": config.type_vocab_size,
        "2": 2,
    }
    table = []
    for row in rows:
        shape = tuple(sizes[letter] for letter in SHAPES[row.ours].split())
        for i in range(config.num_hidden_layers if "{i}" in row.ours else 1):
            theirs = tuple(name.replace("{i}", str(i)) for name in row.theirs)
            table.append((Row(row.ours.replace("{i}", str(i)), theirs, row.transposed), shape))
    return table


def _group(path):
    group = path.split("/")[0]
    return group if group in OPTIONAL_GROUPS else "encoder"


def _check(expected, received, source):
    """`expected`: name → (group, shape); `received`: name → array."""
    present = {"encoder"} | {group for name, (group, _) in expected.items() if name in received}
    lines = [f"missing: {name} {shape}" for name, (group, shape) in expected.items() if group in present and name not in received]
    lines += [f"unknown: {name} {tuple(array.shape)}" for name, array in received.items() if name not in expected]
    lines += [
        f"misshapen: {name}, expected {shape}. Received: {tuple(received[name].shape)}"
        for name, (_, shape) in expected.items()
        if name in received and tuple(received[name].shape) != shape
    ]
    if lines:
        raise ValueError(
            f"{source} does not hold the weights that its configuration describes. "
            "Check that both belong to the same BERT model.\n  " + "\n  ".join(lines)
        )
