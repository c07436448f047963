"""Reading the small files of a model directory, and writing a directory whole or not at all."""

import contextlib
import json
import os
import pathlib
import shutil
import uuid
from collections.abc import Iterator


def read_json(path: pathlib.Path) -> dict:
    """A JSON object from a file; `ValueError` names the file when it holds anything else."""
    try:
        values = json.loads(path.read_bytes())
    except ValueError as error:  # covers both broken JSON and broken UTF-8
        raise ValueError(f"{path} must be JSON. Received: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold a JSON object. Received: {type(values).__name__}")
    return values


def write_json(path: pathlib.Path, values: dict) -> None:
    """Writes a JSON object with sorted keys."""
    path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_lines(path: pathlib.Path) -> list[str]:
    """The lines of a `vocab.txt`. Only line feeds end a line: pieces may hold other characters that Unicode calls line ends."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8. Received: an invalid byte at {error.start}") from None
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


@contextlib.contextmanager
def replaced_directory(directory: str | os.PathLike, replaceable: set[str]) -> Iterator[pathlib.Path]:
    """A new directory to write into, which takes the place of `directory` when the block ends without an error.

    Args:
        directory: where the new directory goes; its parents are created.
        replaceable: names of files that may be lost. A directory that holds anything else is refused.

    Raises:
        FileExistsError: before anything is written, when `directory` is a file or holds something else.
    """
    # Resolved, so that a symbolic link stays and its target is replaced.
    target = pathlib.Path(os.path.realpath(directory))
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"Expected a directory or nothing at the path to save to. Received: the file {directory}")
    others = sorted({entry.name for entry in target.iterdir()} - replaceable) if target.exists() else []
    if others:
        raise FileExistsError(
            "The directory to save to must be new, empty or a saved model, which is replaced. "
            f"Received: directory={str(directory)!r}, which holds {', '.join(others[:5])}. Choose another directory."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    unique = f"{target.name}.{uuid.uuid4().hex[:8]}"
    new, old = target.with_name(f".{unique}.new"), target.with_name(f".{unique}.old")
    new.mkdir()
    try:
        yield new
        for file in new.iterdir():
            _sync(file)
        _sync(new)
        # A rename cannot replace a directory with files in it, so the old one steps aside, and back if need be.
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    _sync(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync(path):
    """Forces a file or a directory entry to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open directories
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
