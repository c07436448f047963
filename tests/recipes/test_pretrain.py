import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TEXT = "\n\n".join(f"The cat number {i} sat on the mat. It was happy there.\nThen it ran after mouse {i}." for i in range(60))
SMALL = ["--vocab-size", "150", "--length", "24", "--batch-size", "4", "--budget", "6 steps"]


def start(*arguments, **options):
    command = [sys.executable, str(ROOT / "recipes" / "pretrain.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options)


def recipe(*arguments, **options):
    process = start(*arguments, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return str(path)


def test_the_recipe_trains_shows_and_leaves_a_run_and_then_changes_nothing(corpus, tmp_path):
    out = tmp_path / "run"
    code, printed, err = recipe("--corpus", corpus, "--out", str(out), *SMALL)
    assert code == 0, err
    for words in (
        "word pieces",
        "masked-LM loss",
        "guessing token frequencies",
        "next-sentence accuracy",
        "the capital of france is [MASK].",
    ):
        assert words in printed
    assert set(os.listdir(out)) == {
        "checkpoint.safetensors",
        "config.json",
        "curves.png",
        "log.jsonl",
        "plan.json",
        "preset",
        "summary.json",
        "tensorboard",
        "tokens",
        "vocab.txt",
    }
    assert (out / "curves.png").stat().st_size > 10_000
    assert json.loads((out / "summary.json").read_text())["steps"] == 6

    code, printed, err = recipe("--corpus", corpus, "--out", str(out), *SMALL)
    assert code == 0 and "nothing to do" in printed

    code, printed, err = recipe("--corpus", corpus, "--out", str(out), *SMALL, "--seed", "1")
    assert code == 2
    assert err.strip().splitlines()[-1].startswith("error:") and "seed=0 there and 1 here" in err


def test_sigterm_saves_and_the_same_command_goes_on(corpus, tmp_path):
    out = tmp_path / "run"
    arguments = ("--corpus", corpus, "--out", str(out), *SMALL[:-1], "100000 steps")
    process = start(*arguments)
    try:
        # The plan is there just before training begins.
        deadline = time.monotonic() + 200
        while not (out / "plan.json").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(15)
        process.send_signal(signal.SIGTERM)
        printed, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "The same command goes on from there." in printed
    assert (out / "checkpoint.safetensors").exists() and not (out / "summary.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--corpus", "nothing/*.txt"], "nothing/*.txt"),
        (["--length", "1000"], "the model's limit. Received: length=1000"),
        (["--budget", "soon"], "budget"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, arguments, message):
    code, _, err = recipe(*arguments, "--out", str(tmp_path / "run"))
    lines = [line for line in err.splitlines() if line.startswith("error:")]
    assert code == 2 and len(lines) == 1 and message in lines[0] and "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_one_sentence_and_leaves_a_usable_state(corpus, tmp_path):
    # A file may grow to 64 KiB only: tokens fit, the checkpoint does not.
    def limit():
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    out = tmp_path / "run"
    code, _, err = recipe("--corpus", corpus, "--out", str(out), *SMALL, preexec_fn=limit)
    assert code == 2 and "error:" in err and "Traceback" not in err
    assert not [name for name in os.listdir(out) if name.endswith(".partial")]
    code, _, err = recipe("--corpus", corpus, "--out", str(out), *SMALL)
    assert code == 0, err
