"""A run's folder: made whole or not at all, for one configuration, and worked on by one process at a time."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator

from keras_bert.training.checkpoint import write_atomically


class RunError(ValueError):
    """The run cannot start or go on; the message is one sentence with the remedy."""


@contextlib.contextmanager
def run_folder(out: str, config: dict, prepare: Callable[[str], None]) -> Iterator[None]:
    """Opens the run's folder `out`, and keeps other processes from it until the context ends.

    A new folder is prepared beside its place, by `prepare(path)`, and renamed when that has succeeded.

    Args:
        out: the folder.
        config: plain values that say what the run is, kept in `config.json`.
        prepare: writes what the run needs into a folder.

    Raises:
        RunError: when the folder belongs to another configuration, to another process or to something else.
    """
    with contextlib.ExitStack() as lock:
        if os.path.exists(os.path.join(out, "config.json")):
            lock.enter_context(_locked(out))
            _check(out, config)
        else:
            if os.path.exists(out) and (not os.path.isdir(out) or os.listdir(out)):
                raise RunError(f"{out} exists and is not a run's folder. Choose another --out.")
            partial = f"{out}.partial"
            os.makedirs(partial, exist_ok=True)
            # The lock goes with the folder when it is renamed.
            lock.enter_context(_locked(partial))
            try:
                _empty(partial)  # of what a killed process has left
                prepare(partial)
                write_json(config, partial, "config.json")
                if os.path.isdir(out):
                    os.rmdir(out)
                os.replace(partial, out)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
        yield


def _check(out: str, config: dict) -> None:
    stored = read_json(out, "config.json")
    differing = sorted(key for key in stored.keys() | config.keys() if stored.get(key) != config.get(key))
    if differing:
        listed = ", ".join(f"{key}={stored.get(key)!r} there and {config.get(key)!r} here" for key in differing)
        raise RunError(f"{out} belongs to another configuration: {listed}. Use the same flags, or another --out.")


@contextlib.contextmanager
def _locked(directory: str) -> Iterator[None]:
    import fcntl

    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunError(f"Another process is working on {directory}. Wait for its end, or choose another --out.") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _empty(directory: str) -> None:
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def read_json(*path: str) -> dict:
    """The object in a JSON file, whose path is given in parts."""
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def write_json(value: dict, *path: str) -> None:
    """Writes an object, atomically."""
    write_atomically(os.path.join(*path), (json.dumps(value, indent=2) + "\n").encode())
