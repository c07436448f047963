"""The tests of models and layers again, on the other backends."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_models_and_layers_on_another_backend(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
        pytest.skip("this run is on another backend already")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/layers", "tests/models"],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": backend, "OMP_NUM_THREADS": "1"},  # models this small lose by threads
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
