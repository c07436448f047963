"""`pretrain()`: corpus, model and training joined.

A run is a folder:

    config.json          what was asked for
    vocab.txt            the word pieces
    tokens/train, tokens/heldout     token stores
    plan.json            number of steps, from the budget
    checkpoint.safetensors           the last state
    log.jsonl, tensorboard/          what happened
    preset/              the result, in Hugging Face layout
    summary.json         the scores; its presence says that the run is finished

The same configuration on an unfinished folder goes on where the checkpoint stands.
"""

import dataclasses
import math
import os
import re
import statistics
import time
from collections.abc import Iterator

import numpy as np

from keras_bert.config import SIZES, BertConfig
from keras_bert.corpus.documents import CorpusError, list_files, read_documents
from keras_bert.corpus.english_docs import installed_documentation
from keras_bert.corpus.examples import Examples, batches
from keras_bert.corpus.split import write_stores
from keras_bert.corpus.token_store import open_token_store
from keras_bert.preprocessing.vocabulary import write_vocabulary
from keras_bert.training.callbacks import ProgressBar, RunLog, Saver, StopOnNonFiniteLoss, StopOnSignal, cut_log
from keras_bert.training.checkpoint import restore, snapshot
from keras_bert.training.guesses import as_markdown, guesses
from keras_bert.training.run_folder import RunError, read_json, run_folder, write_json

OBJECTIVES = ("mlm+nsp", "mlm")
_LEARNING_RATES = {"tiny": 3e-3, "mini": 1e-3, "small": 5e-4, "medium": 3e-4, "base": 1e-4, "large": 1e-4}
_REFERENCE_BATCH = 32  # rows, for which these rates are
_WARMUP_SHARE = 0.05
_WINDOWS, _LONGEST_WINDOW = 100, 1000  # lines of the log, and the most steps from one to the next
_EVALUATIONS = 10
_HELDOUT_BATCHES = 8  # for the scores during training; the last evaluation reads everything up to _FINAL_BATCHES
_FINAL_BATCHES = 400


def _flag(help: str, default):
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """Everything that determines a pretraining run. Each field is a flag of `recipes/pretrain.py`."""

    corpus: str = _flag("text to train on: file, folder or glob of .txt, .jsonl, .gz; several separated by commas", "")
    heldout: str = _flag("text to evaluate on; by default every twentieth document of the corpus", "")
    vocab: str = _flag("vocab.txt to use; by default a vocabulary is learned from the corpus", "")
    vocab_size: int = _flag("word pieces to learn", 8192)
    cased: bool = _flag("keep case and accents", False)
    size: str = _flag(f"size of the model: {', '.join(SIZES)}", "tiny")
    length: int = _flag("tokens per row", 128)
    objective: str = _flag("mlm+nsp, or mlm for masked tokens alone in rows of contiguous text", "mlm+nsp")
    whole_word: bool = _flag("mask whole words", False)
    budget: str = _flag("training time (30s, 10m, 2h) or number of steps (100000 steps)", "5m")
    batch_size: int = _flag("rows per step", _REFERENCE_BATCH)
    learning_rate: float = _flag("peak of the learning rate; 0 takes the one for the size and the batch", 0.0)
    dropout: float = _flag("dropout rate; the paper has 0.1, runs of few epochs learn more without", 0.0)
    dtype: str = _flag("float32, mixed_bfloat16 or mixed_float16", "float32")
    seed: int = _flag("seed of everything random", 0)
    encoding_errors: str = _flag("strict, or replace to read text that is not valid UTF-8", "strict")

    def __post_init__(self):
        def require(condition, name, expected):
            if not condition:
                raise RunError(f"{name} must be {expected}. Received: {name}={getattr(self, name)!r}")

        require(self.size in SIZES, "size", f"one of {', '.join(SIZES)}")
        require(self.objective in OBJECTIVES, "objective", f"one of {', '.join(OBJECTIVES)}")
        require(self.dtype in ("float32", "mixed_bfloat16", "mixed_float16"), "dtype", "float32, mixed_bfloat16 or mixed_float16")
        require(self.encoding_errors in ("strict", "replace"), "encoding_errors", "strict or replace")
        require(self.batch_size >= 1, "batch_size", "at least 1")
        require(self.vocab_size >= 100, "vocab_size", "at least 100")
        require(0 <= self.dropout < 1, "dropout", "in [0, 1)")
        require(math.isfinite(self.learning_rate) and self.learning_rate >= 0, "learning_rate", "a number, 0 or more")
        require(0 <= self.seed < 2**31, "seed", "in [0, 2147483648)")
        limit = BertConfig().max_position_embeddings
        require(8 <= self.length <= limit, "length", f"from 8 to {limit}, the model's limit")
        parse_budget(self.budget)

    def to_dict(self) -> dict:
        """All fields, ready for JSON."""
        return dataclasses.asdict(self)


def parse_budget(text: str) -> tuple[str, float]:
    """`"10m"` → `("seconds", 600.0)`; `"5000 steps"` → `("steps", 5000)`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h|steps?)\s*", text)
    if match is None or float(match[1]) == 0 or (match[2].startswith("step") and "." in match[1]):
        raise RunError(f'budget must be a time such as 10m or 2h, or a number of steps such as "5000 steps". Received: budget={text!r}')
    number, unit = float(match[1]), match[2]
    if unit.startswith("step"):
        return "steps", int(number)
    return "seconds", number * {"s": 1, "m": 60, "h": 3600}[unit]


def pretrain(config: PretrainingConfig, out: str, report=print) -> dict | None:
    """Runs, or continues, a pretraining run in the folder `out` (see the module's docstring).

    Args:
        config: what to do.
        out: the run's folder; made if missing.
        report: called with lines of text that tell what is going on.

    Returns:
        The summary: held-out scores beside the unigram baseline (losses in nats), steps, seconds of training. `None`
        when a signal stopped the run; the checkpoint is written then.

    Raises:
        RunError, CorpusError: for bad input; nothing is left half-written.
        NonFiniteLoss: when the loss became infinite or not a number.
    """
    out = os.path.normpath(out)
    with run_folder(out, config.to_dict(), prepare=lambda directory: _prepare(config, directory, report)):
        if os.path.exists(os.path.join(out, "summary.json")):
            report(f"{out} is finished; nothing to do. For another run choose another --out.")
            return read_json(out, "summary.json")
        return PretrainingRun(config, out, report).run()


# --- The corpus ------------------------------------------------------------------------------------------------------


def _prepare(config: PretrainingConfig, directory: str, report) -> None:
    """Writes `vocab.txt` and the two token stores."""

    def files(patterns: str) -> list[str]:
        return list_files([pattern.strip() for pattern in patterns.split(",")])

    if config.corpus:
        sources = files(config.corpus)
    else:
        sources = [installed_documentation()]
        report(f"No --corpus given: the English documentation installed here, {sources[0]}")
    heldout = read_documents(files(config.heldout), config.encoding_errors) if config.heldout else None

    started = time.monotonic()
    tokenizer = _tokenizer(config, sources)
    write_vocabulary(tokenizer.vocabulary, os.path.join(directory, "vocab.txt"))
    report(f"Vocabulary: {tokenizer.vocabulary_size():,} word pieces ({time.monotonic() - started:.0f} s)")

    started = time.monotonic()
    tokens = os.path.join(directory, "tokens")
    os.makedirs(tokens)
    least = 2 if config.objective == "mlm+nsp" else 1
    counts = write_stores(tokens, tokenizer, read_documents(sources, config.encoding_errors), heldout, least)
    report(
        f"Training text: {counts.documents:,} documents, {counts.tokens:,} tokens; held out: {counts.heldout_documents:,} documents, "
        f"{counts.heldout_tokens:,} tokens; {counts.repeated:,} repeated documents dropped ({time.monotonic() - started:.0f} s)"
    )


def _tokenizer(config: PretrainingConfig, sources: list[str]):
    """The tokenizer of `--vocab`, or one learned from the corpus."""
    from keras_bert.preprocessing import WordPieceTokenizer

    if config.vocab:
        try:
            tokenizer = WordPieceTokenizer(config.vocab, lowercase=not config.cased)
        except OSError as error:
            raise RunError(f"--vocab {config.vocab} cannot be read: {error.strerror}.") from None
        except ValueError as error:
            raise RunError(str(error)) from None
        missing = [token for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]") if token not in tokenizer.special_tokens]
        if missing:
            raise RunError(f"{config.vocab} lacks {', '.join(missing)}, which pretraining needs.")
        return tokenizer
    lines = (line for document in read_documents(sources, config.encoding_errors) for line in document)
    try:
        return WordPieceTokenizer.learn(lines, config.vocab_size, lowercase=not config.cased)
    except CorpusError:
        raise
    except ValueError as error:
        raise CorpusError(f"{error} Read: {', '.join(sources[:3])}{' …' if len(sources) > 3 else ''}.") from None


# --- The run ---------------------------------------------------------------------------------------------------------


def _legs(step: int, total: int, window: int) -> Iterator[tuple[int, int]]:
    """Cuts the steps from `step` to `total` at multiples of `window`: (number of windows, steps in each).

    >>> list(_legs(3, 17, 5))
    [(1, 2), (2, 5), (1, 2)]
    """
    first = min(-step % window, total - step)
    full, rest = divmod(total - step - first, window)
    for leg in ((1, first), (full, window), (1, rest)):
        if leg[0] and leg[1]:
            yield leg


class PretrainingRun:
    """A run in a prepared folder: builds everything from it, trains, and writes the result.

    Args:
        config: what to do.
        out: the folder, with `vocab.txt` and `tokens/`.
        report: called with lines of text.

    Attributes:
        model: the `BertPretrainer`.
        train, heldout: the `Examples`.
    """

    def __init__(self, config: PretrainingConfig, out: str, report=print):
        # Keras is loaded when a run begins, so that bad input is told at once.
        import keras

        from keras_bert.models.initialization import initialize_for_pretraining, initializer_range_for
        from keras_bert.models.pretrainer import BertPretrainer
        from keras_bert.preprocessing import DynamicMasking, WordPieceTokenizer

        self.config, self.out, self.report = config, out, report
        self.tokenizer = WordPieceTokenizer(os.path.join(out, "vocab.txt"), lowercase=not config.cased)
        vocabulary = self.tokenizer.vocabulary
        next_sentence = config.objective == "mlm+nsp"
        specials = [self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]")]
        stores = [open_token_store(os.path.join(out, "tokens", name), vocabulary) for name in ("train", "heldout")]
        self.train, self.heldout = (Examples(store, config.length, next_sentence, config.seed, *specials) for store in stores)
        self.masking = DynamicMasking(vocabulary, round(0.15 * (config.length - 2)), whole_word=config.whole_word)
        self.token_counts = stores[0].token_counts(len(vocabulary))

        keras.utils.set_random_seed(config.seed)
        encoder = BertConfig.of_size(
            config.size,
            vocab_size=len(vocabulary),
            hidden_dropout_prob=config.dropout,
            attention_probs_dropout_prob=config.dropout,
            initializer_range=initializer_range_for(SIZES[config.size][1]),
        )
        self.model = BertPretrainer(encoder, next_sentence, self.tokenizer, dropout_seed=config.seed, dtype=config.dtype)
        initialize_for_pretraining(self.model, self.token_counts)

    def run(self) -> dict | None:
        """Trains from the last checkpoint to the end; gives the summary, or `None` when a signal stopped it."""
        checkpoint = os.path.join(self.out, "checkpoint.safetensors")
        plan = os.path.join(self.out, "plan.json")
        if not os.path.exists(plan):
            write_json(self._plan(), plan)
        total, window = read_json(plan)["total_steps"], read_json(plan)["window"]
        self.compile(total)
        saver = Saver(checkpoint, window)
        if os.path.exists(checkpoint):
            try:
                saver.load(self.model)
            except ValueError as error:
                raise RunError(str(error)) from None
            self.report(f"Going on at step {saver.step:,} of {total:,}")
        signal = self._fit(saver, total, window)
        if signal is not None:
            self.report(f"Stopped at step {saver.step:,} of {total:,} and saved. The same command goes on from there.")
            return None
        return self._finish(saver)

    def compile(self, total_steps: int) -> None:
        """Fresh optimizer and metrics, all variables built."""
        from keras_bert.training import BertAdamW, LinearWarmupDecay

        # A small batch is noisier and takes a smaller rate; measured for tiny: at 16 rows 3e-3 can get stuck.
        default = _LEARNING_RATES[self.config.size] * min(1.0, (self.config.batch_size / _REFERENCE_BATCH) ** 0.5)
        peak = self.config.learning_rate or default
        warmup = min(total_steps - 1, max(1, round(_WARMUP_SHARE * total_steps)))
        self.model.compile(BertAdamW(LinearWarmupDecay(peak, warmup, total_steps)))
        self.model.optimizer.build(self.model.trainable_variables)

    def batches(self, examples: Examples, first_step: int, last_step: int):
        """The masked batches of these steps, a `tf.data.Dataset`."""
        return batches(examples, self.masking, self.config.batch_size, first_step, last_step)

    def _plan(self) -> dict:
        """Turns the budget into a number of steps, once."""
        kind, amount = parse_budget(self.config.budget)
        if kind == "seconds":
            seconds = self._measure_step()
            amount = max(2, amount / seconds)
            self.report(f"A step takes {seconds * 1000:,.1f} ms: {int(amount):,} steps in {self.config.budget}")
        total = int(amount)
        return {"total_steps": total, "window": max(1, min(_LONGEST_WINDOW, round(total / _WINDOWS)))}

    def _measure_step(self, steps: int = 60) -> float:
        """Seconds of a training step, on real batches; the model is as before afterwards."""
        import keras

        times = []
        # Reading the loss waits for the step to end, on backends that do not by themselves.
        clock = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: times.append(float(logs["loss"]) * 0 + time.perf_counter())
        )
        self.compile(steps + 1)
        before = snapshot(self.model)
        self.model.fit(self.batches(self.train, 0, steps), steps_per_epoch=steps, shuffle=False, verbose=0, callbacks=[clock])
        restore(self.model, before)
        return statistics.mean(np.diff(times)[10:])  # after compilation, and after the pipeline's first, buffered batches

    def _fit(self, saver: "Saver", total: int, window: int) -> int | None:
        """Trains to the end, or to a signal, whose number is returned."""
        sample_inputs, sample_targets = next(iter(self.batches(self.heldout, 0, 1)))
        inputs = {key: value[:8].numpy() for key, value in sample_inputs.items()}
        originals = sample_targets["mask_ids"][:8].numpy()
        turn = window * max(1, round(total / window / _EVALUATIONS))

        def evaluate(step: int) -> dict | None:
            return self._scores(_HELDOUT_BATCHES) if step % turn == 0 or step == total else None

        def describe() -> str:
            return as_markdown(guesses(self.model, inputs, originals, self.tokenizer.vocabulary))

        tokens_per_step = self.config.batch_size * self.config.length
        cut_log(self.out, saver.step)
        log = RunLog(self.out, saver, total, tokens_per_step, evaluate, describe)
        with StopOnSignal() as stop, ProgressBar(saver.step, total, tokens_per_step) as bar:
            for windows, steps in _legs(saver.step, total, window):
                used = [log, StopOnNonFiniteLoss(saver.step), saver, bar, stop]
                data = self.batches(self.train, saver.step, total)
                self.model.fit(data, epochs=windows, steps_per_epoch=steps, shuffle=False, verbose=0, callbacks=used)
                if stop.received is not None:
                    break
            saver.save(self.model)
        return stop.received if saver.step < total else None

    def _scores(self, num_batches: int) -> dict[str, float]:
        """Held-out losses and accuracies over the first `num_batches` batches."""
        scores = self.model.evaluate(self.batches(self.heldout, 0, num_batches), verbose=0, return_dict=True)
        return {name: float(value) for name, value in scores.items()}

    def _finish(self, saver: "Saver") -> dict:
        """The last evaluation, the preset, the summary."""
        num_batches = min(_FINAL_BATCHES, math.ceil(self.heldout.per_epoch / self.config.batch_size))
        scores = self._scores(num_batches)
        frequencies = np.log((self.token_counts + 1) / (self.token_counts + 1).sum())
        loss = count = 0.0
        for _, targets in self.batches(self.heldout, 0, num_batches):  # the same masks as in the scores
            weights = targets["mask_weights"].numpy()
            loss -= (frequencies[targets["mask_ids"].numpy()] * weights).sum()
            count += weights.sum()
        self.model.save_to_preset(os.path.join(self.out, "preset"))
        summary = {
            "steps": saver.step,
            "training_seconds": round(saver.seconds, 1),
            "tokens_per_second": round(saver.step * self.config.batch_size * self.config.length / max(saver.seconds, 1e-9)),
            "heldout_masked_tokens": int(count),
            "heldout_unigram_loss": float(loss / count),
            **{f"heldout_{name}": value for name, value in scores.items()},
        }
        write_json(summary, self.out, "summary.json")
        return summary
