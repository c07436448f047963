"""Callbacks: what one sees of a run, and how it stops."""

import json
import math
import os
import signal
import sys
import threading
import time

import keras
import numpy as np

from keras_bert.training.checkpoint import load_checkpoint, restore, save_checkpoint, snapshot

_SECONDS_BETWEEN_CHECKPOINTS = 60


class NonFiniteLoss(RuntimeError):
    """The loss became infinite or not a number."""


class StopOnNonFiniteLoss(keras.callbacks.Callback):
    """Raises `NonFiniteLoss`, naming the step, at the first loss that is not finite.

    Args:
        first_step: the step that the first batch of `fit` is.
    """

    def __init__(self, first_step: int):
        super().__init__()
        self.step = first_step

    def on_train_batch_end(self, batch, logs=None):
        loss = float(logs["loss"])
        if not math.isfinite(loss):
            raise NonFiniteLoss(
                f"The loss is {loss} at step {self.step}. Checkpoints from before it are kept. "
                "Lower the learning rate (--learning-rate), or start a new run with another seed."
            )
        self.step += 1


class StopOnSignal(keras.callbacks.Callback):
    """Ends training after the current step on Ctrl-C (SIGINT) or SIGTERM; a context manager that catches both.

    `received` then holds the signal's number. A second signal acts as usual.
    """

    def __init__(self):
        super().__init__()
        self.received = None
        self._previous = {}

    def __enter__(self):
        # Python lets only the main thread handle signals; a run in another one ends with its process.
        catchable = threading.current_thread() is threading.main_thread()
        for number in (signal.SIGINT, signal.SIGTERM) if catchable else ():
            self._previous[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_):
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _catch(self, number, frame):
        self.received = number
        signal.signal(number, self._previous[number])

    def on_train_batch_end(self, batch, logs=None):
        if self.received is not None:
            self.model.stop_training = True


class Saver(keras.callbacks.Callback):
    """Counts steps and training time, and saves a checkpoint about once a minute, wherever in a window that is.

    Args:
        path: the checkpoint's file.
        window: steps between two lines of the log.
    """

    def __init__(self, path: str, window: int):
        super().__init__()
        self.path = path
        self.window = window
        self.step = 0
        self.seconds = 0.0
        self._last_save = self._last_end = time.monotonic()
        self._state: list[np.ndarray] | None = None

    def load(self, model) -> None:
        """Restores model, optimizer, step and time."""
        self._state, values = load_checkpoint(self.path)
        self.step, self.seconds = values["step"], values["seconds"]
        restore(model, self._state)

    def save(self, model) -> None:
        """Writes the checkpoint."""
        save_checkpoint(self.path, snapshot(model), {"step": self.step, "seconds": self.seconds})
        self._last_save = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        if self._state is not None and self.step % self.window:
            restore(self.model, self._state)  # once more: `fit` has set the metrics of the unfinished window to zero
        self._state = None
        self._last_end = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        now = time.monotonic()
        self.step += 1
        self.seconds += now - self._last_end
        if self.step % self.window:  # at the end of a window the log comes first
            self._save_if_due()
        self._last_end = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        self._save_if_due()

    def _save_if_due(self):
        if time.monotonic() - self._last_save >= _SECONDS_BETWEEN_CHECKPOINTS:
            if keras.backend.backend() == "jax":
                self.model.jax_state_sync()  # within `fit` the variables are behind
            self.save(self.model)


class ProgressBar(keras.callbacks.Callback):
    """One line with the share done, the loss, tokens per second and the time left, over all calls of `fit`.

    Args:
        first_step, total_steps: where the run begins and ends.
        tokens_per_step: batch size times length.
    """

    def __init__(self, first_step: int, total_steps: int, tokens_per_step: int):
        super().__init__()
        from tqdm import tqdm

        self.tokens_per_step = tokens_per_step
        # Into a file or a pipe a line every half minute is enough.
        quiet = not sys.stderr.isatty()
        self.bar = tqdm(
            initial=first_step,
            total=total_steps,
            unit="step",
            mininterval=30 if quiet else 0.5,
            dynamic_ncols=not quiet,
            ncols=110 if quiet else None,
        )

    def on_train_batch_end(self, batch, logs=None):
        self.bar.update()
        seen = self.bar.format_dict
        rate = seen["rate"] or (seen["n"] - seen["initial"]) / max(seen["elapsed"], 1e-9)
        self.bar.set_postfix_str(f"loss {float(logs['loss']):.3f}, {rate * self.tokens_per_step:,.0f} tokens/s", refresh=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bar.close()


class RunLog(keras.callbacks.Callback):
    """Writes a line of `log.jsonl` and TensorBoard scalars at the end of every window (Keras epoch).

    Args:
        directory: the run's folder.
        progress: the `Saver`, which knows the number of steps done. It comes after this callback, so that no
            checkpoint is ahead of the log.
        total_steps: steps of the whole run.
        tokens_per_step: batch size times length.
        evaluate: a function of the number of steps done that gives held-out scores, or `None` when it is not their turn.
        guesses: a function that gives the model's guesses as Markdown, called along with the scores.
    """

    def __init__(self, directory: str, progress, total_steps: int, tokens_per_step: int, evaluate, guesses):
        super().__init__()
        import tensorflow as tf

        self.path = os.path.join(directory, "log.jsonl")
        self.progress = progress
        self.total_steps = total_steps
        self.tokens_per_step = tokens_per_step
        self.evaluate = evaluate
        self.guesses = guesses
        self._writer = tf.summary.create_file_writer(os.path.join(directory, "tensorboard"))
        self._window_start = (0, 0.0)

    def on_epoch_begin(self, epoch, logs=None):
        self._window_start = (self.progress.step, time.monotonic())

    def on_epoch_end(self, epoch, logs=None):
        import tensorflow as tf

        step = self.progress.step
        if step % self.progress.window and step != self.total_steps:
            return  # a signal ended the window early; the resumed run completes it
        steps, seconds = step - self._window_start[0], time.monotonic() - self._window_start[1]
        row = {name: float(value) for name, value in logs.items()}
        row["learning_rate"] = float(self.model.optimizer.learning_rate)
        row["gradient_norm"] = float(np.asarray(keras.ops.convert_to_numpy(self.model.optimizer.gradient_norm)))
        row["tokens_per_second"] = steps * self.tokens_per_step / seconds
        scores = self.evaluate(step)
        if scores is not None:
            row |= {f"heldout_{name}": value for name, value in scores.items()}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **row}) + "\n")
        with self._writer.as_default(step):
            for name, value in row.items():
                group = "heldout/" + name.removeprefix("heldout_") if name.startswith("heldout_") else "train/" + name
                tf.summary.scalar(group, value)
            if scores is not None:
                tf.summary.text("guesses", self.guesses())
        self._writer.flush()


def cut_log(directory: str, step: int) -> None:
    """Drops the lines of `log.jsonl` after `step`, which a resumed run will write again."""
    path = os.path.join(directory, "log.jsonl")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.endswith("\n")]
    kept = [line for line in lines if json.loads(line)["step"] <= step]
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.writelines(kept)
    os.replace(path + ".partial", path)
