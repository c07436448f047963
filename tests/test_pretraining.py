import json
import os
import random
import signal

import numpy as np
import pytest

from keras_bert.corpus.documents import CorpusError
from keras_bert.pretraining import PretrainingConfig, _legs, parse_budget, pretrain
from keras_bert.training.callbacks import NonFiniteLoss, Saver
from keras_bert.training.run_folder import RunError

WALL_CLOCK = ("tokens_per_second",)


def text(seed, documents):
    """Documents in a toy language: each has its own few words, so that the next sentence can be told."""
    rng = random.Random(seed)
    words = [f"{a}{b}" for a in ("ba", "do", "ki", "lu") for b in ("man", "ter", "sol", "fin", "gar")]
    blocks = []
    for _ in range(documents):
        topic = rng.sample(words, 5)
        blocks.append("\n".join(" ".join(rng.choices(topic, k=6)) + " ." for _ in range(rng.randint(4, 9))))
    return "\n\n".join(blocks) + "\n"


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(text(0, 80))
    return str(path)


def config(corpus, **options):
    options = {"vocab_size": 120, "length": 24, "batch_size": 4, "budget": "23 steps", **options}
    return PretrainingConfig(corpus=corpus, **options)


def log(out):
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as file:
        return [{key: value for key, value in json.loads(line).items() if key not in WALL_CLOCK} for line in file]


def weights(out):
    from safetensors.numpy import load_file

    return load_file(os.path.join(out, "preset", "model.safetensors"))


def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_bert.pretraining._WINDOWS", 4)  # windows of six steps, the last one of five
    straight, stopped = str(tmp_path / "straight"), str(tmp_path / "stopped")
    summary = pretrain(config(corpus, dropout=0.1), straight, report=lambda line: None)

    original = Saver.on_train_batch_end

    def stop_in_mid_window(self, batch, logs=None):
        original(self, batch, logs)
        if self.step in (3, 6, 14):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Saver, "on_train_batch_end", stop_in_mid_window)
    said = []
    for _ in range(3):
        assert pretrain(config(corpus, dropout=0.1), stopped, report=said.append) is None
    assert sum("The same command goes on" in line for line in said) == 3
    monkeypatch.setattr(Saver, "on_train_batch_end", original)
    again = pretrain(config(corpus, dropout=0.1), stopped, report=said.append)

    assert log(stopped) == log(straight)
    assert [row["step"] for row in log(straight)] == [6, 12, 18, 23]
    for name, value in weights(straight).items():
        np.testing.assert_array_equal(weights(stopped)[name], value, err_msg=name)
    for key in set(summary) - {"training_seconds", "tokens_per_second"}:
        assert again[key] == summary[key], key

    before = {name: os.stat(os.path.join(stopped, name)).st_mtime_ns for name in os.listdir(stopped)}
    assert pretrain(config(corpus, dropout=0.1), stopped, report=said.append) == again
    assert "is finished; nothing to do" in said[-1]
    assert {name: os.stat(os.path.join(stopped, name)).st_mtime_ns for name in os.listdir(stopped)} == before
    with pytest.raises(RunError, match=r"batch_size=4 there and 8 here, seed=0 there and 1 here"):
        pretrain(config(corpus, dropout=0.1, batch_size=8, seed=1), stopped)


def test_a_crashed_run_goes_on_from_its_last_checkpoint_and_equals_an_uninterrupted_one(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_bert.pretraining._WINDOWS", 4)
    straight, crashed = str(tmp_path / "straight"), str(tmp_path / "crashed")
    pretrain(config(corpus, dropout=0.1), straight, report=lambda line: None)
    monkeypatch.setattr("keras_bert.training.callbacks._SECONDS_BETWEEN_CHECKPOINTS", 0)
    original, save = Saver.on_train_batch_end, Saver.save
    crash_at = []

    def crash(self, batch, logs=None):
        original(self, batch, logs)
        if self.step in crash_at:
            raise KeyboardInterrupt

    def save_some(self, model):
        if self.step not in (8, 9):  # so that the crash at step 9 loses two steps
            save(self, model)

    monkeypatch.setattr(Saver, "on_train_batch_end", crash)
    monkeypatch.setattr(Saver, "save", save_some)
    for step in (9, 12):
        crash_at[:] = [step]
        with pytest.raises(KeyboardInterrupt):
            pretrain(config(corpus, dropout=0.1), crashed, report=lambda line: None)
    crash_at.clear()
    pretrain(config(corpus, dropout=0.1), crashed, report=lambda line: None)
    assert log(crashed) == log(straight)
    for name, value in weights(straight).items():
        np.testing.assert_array_equal(weights(crashed)[name], value, err_msg=name)


def test_a_run_learns_both_objectives_and_its_preset_fills_masks(corpus, tmp_path):
    import keras_bert

    heldout = tmp_path / "heldout.txt"
    heldout.write_text(text(1, 30))
    out = str(tmp_path / "run")
    options = {"heldout": str(heldout), "batch_size": 16, "budget": "800 steps", "learning_rate": 1e-3}
    summary = pretrain(config(corpus, **options), out, report=lambda line: None)
    assert summary["heldout_mlm_loss"] < summary["heldout_unigram_loss"] - 0.5
    assert summary["heldout_nsp_loss"] < np.log(2) - 0.01
    model = keras_bert.BertMaskedLM.from_preset(os.path.join(out, "preset"))
    (answers,) = model.fill_mask("baman kisol baman kisol [MASK] kisol baman kisol .", top_k=3)
    assert {"baman", "kisol"} & {answer["token"] for answer in answers}


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_step(corpus, tmp_path, monkeypatch):
    import keras

    from keras_bert.models.pretrainer import BertPretrainer

    original = BertPretrainer.compute_loss

    def explode(self, *arguments, **named):
        return original(self, *arguments, **named) / keras.ops.cast(6 - self.optimizer.iterations, "float32")

    monkeypatch.setattr(BertPretrainer, "compute_loss", explode)
    with pytest.raises(NonFiniteLoss, match="at step 6"):
        pretrain(config(corpus, objective="mlm"), str(tmp_path / "run"), report=lambda line: None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size must be one of tiny"),
        ({"length": 513}, "length must be from 8 to 512, the model's limit. Received: length=513"),
        ({"objective": "nsp"}, "objective must be one of"),
        ({"budget": "10 minutes"}, "budget must be a time such as 10m.*Received: budget=.10 minutes"),
        ({"budget": "0 steps"}, "budget"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_bad_flags_are_named(options, message):
    with pytest.raises(RunError, match=message):
        PretrainingConfig(**options)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, {}, "corpus.txt"),
        (b"", {}, "(?i)empty.*corpus.txt"),
        (b"one document\nwith two lines\n", {}, "at least 2 documents.*--objective mlm"),
        (b"a\0b", {}, "(?i)binary"),
        (b"fine\n\nnot \xff fine\n", {}, r"corpus\.txt.*byte 10.*--encoding-errors replace"),
        (b"a\n\nb\n\nc\n\nd\n", {"vocab": "missing.txt"}, r"--vocab missing\.txt"),
        (b"a\n\nb\n\nc\n\nd\n", {"heldout": "missing.txt"}, r"missing\.txt"),
        (b"a\n\nb\n\nc\n\nd\n", {"vocab": os.path.abspath(__file__)}, "(?s)test_pretraining.*line"),
    ],
)
def test_bad_text_is_named_and_leaves_nothing(tmp_path, content, options, message):
    path = tmp_path / "corpus.txt"
    if content is not None:
        path.write_bytes(content)
    out = tmp_path / "run"
    with pytest.raises((CorpusError, RunError), match=message):
        pretrain(config(str(path), **options), str(out), report=lambda line: None)
    assert [entry.name for entry in tmp_path.iterdir()] == (["corpus.txt"] if content is not None else [])


def test_a_damaged_checkpoint_is_named(corpus, tmp_path):
    out = tmp_path / "run"
    pretrain(config(corpus, budget="1 step"), str(out), report=lambda line: None)
    (out / "summary.json").unlink()
    (out / "checkpoint.safetensors").write_bytes(b"half of a checkpoint")
    with pytest.raises(RunError, match=r"checkpoint\.safetensors is not a whole checkpoint"):
        pretrain(config(corpus, budget="1 step"), str(out), report=lambda line: None)


def test_a_folder_of_somebody_else_is_left_alone(corpus, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.txt").write_text("precious")
    with pytest.raises(RunError, match="is not a run's folder"):
        pretrain(config(corpus), str(out))
    assert [entry.name for entry in out.iterdir()] == ["thesis.txt"]


def test_legs_end_at_multiples_of_the_window():
    assert list(_legs(3, 17, 5)) == [(1, 2), (2, 5), (1, 2)]
    assert list(_legs(0, 10, 5)) == [(2, 5)]
    assert list(_legs(16, 17, 5)) == [(1, 1)]
    assert list(_legs(17, 17, 5)) == []


def test_budgets_are_times_or_steps():
    assert parse_budget("10m") == ("seconds", 600)
    assert parse_budget(" 1.5h ") == ("seconds", 5400)
    assert parse_budget("100000 steps") == ("steps", 100_000)
