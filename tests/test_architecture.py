"""The floors of the package, what an import loads, and the length of files."""

import os
import pathlib
import subprocess
import sys

import pytest

import keras_bert

ROOT = pathlib.Path(__file__).parents[1]


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def loaded_by(statement, **environment):
    """The top-level modules that are loaded after `statement` in a new interpreter."""
    result = python(f"{statement}\nimport sys\nprint('loaded:', *sorted(m for m in sys.modules if '.' not in m))", **environment)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.rpartition("loaded:")[2].split())


def test_imports_only_go_to_lower_floors():
    pytest.importorskip("importlinter")
    result = python("import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))")
    assert result.returncode == 0, result.stdout + result.stderr


def test_importing_the_package_loads_neither_keras_nor_a_backend():
    loaded = loaded_by("import keras_bert; dir(keras_bert); keras_bert.BertConfig.tiny(); keras_bert.__version__")
    assert "keras_bert" in loaded
    assert not loaded & {"keras", "keras_hub", "tensorflow", "tensorflow_text", "jax", "torch", "transformers"}


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_models_do_not_load_tensorflow_on_another_backend(backend):
    pytest.importorskip(backend)
    code = "import keras_bert.models; keras_bert.BertPretrainer(keras_bert.BertConfig.tiny(vocab_size=50))"
    loaded = loaded_by(code, KERAS_BACKEND=backend)
    assert {"keras", backend} <= loaded
    assert not loaded & {"tensorflow", "tensorflow_text", "keras_hub"}


def test_every_public_name_is_there():
    for name in keras_bert.__all__:
        assert getattr(keras_bert, name) is getattr(keras_bert, name)
        assert name in dir(keras_bert)
    with pytest.raises(AttributeError, match="no attribute 'BertClasifier'"):
        keras_bert.BertClasifier  # noqa: B018


def test_files_are_at_most_400_lines():
    for path in (ROOT / "keras_bert").rglob("*.py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 400, f"{path.relative_to(ROOT)} has {lines} lines"
