import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_tokenizers_are_timed_and_compared(tmp_path):
    (tmp_path / "text.txt").write_text("The cat sat on the mat.\n\nA dog… ran\n" * 20, encoding="utf-8")
    arguments = ["tokenize", "--text", f"cats={tmp_path / '*.txt'}", "--rounds", "1", "--cores", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "KERAS_BACKEND": "tensorflow"}
    done = subprocess.run(
        [sys.executable, ROOT / "recipes" / "benchmark.py", *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    lines = done.stdout.splitlines()
    results = {result["tokenizer"]: result for result in map(json.loads, lines[:4])}
    assert list(results) == ["keras_bert", "FastBertTokenizer", "KerasHub", "tokenizers"]
    assert all(result["lines"] == 40 and result["megabytes_per_s"] > 0 for result in results.values())
    # The ellipsis is one character to the original code, ours and `tokenizers`, and three dots to the other two.
    assert {name: result["lines_unlike_ours"] for name, result in results.items()} == {
        "keras_bert": 0,
        "FastBertTokenizer": 20,
        "KerasHub": 20,
        "tokenizers": 0,
    }
    assert lines[4].startswith("| text | cores |") and lines[6].startswith("| cats | 1 | **")


def test_text_that_is_not_there_is_an_error(tmp_path):
    command = [sys.executable, ROOT / "recipes" / "benchmark.py", "tokenize", "--text", f"cats={tmp_path}/*.txt"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "No text in" in done.stderr
