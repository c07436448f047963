"""Fixtures for all tests."""

import os
import pathlib

import pytest


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of reference outputs and data that lies beside the repository."""
    path = pathlib.Path(os.environ.get("KERAS_BERT_SHARED") or pathlib.Path(__file__).parents[1] / ".." / "shared").resolve()
    if not path.is_dir():
        pytest.skip(f"no reference data at {path}; set KERAS_BERT_SHARED")
    return path
