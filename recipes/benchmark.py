"""Measures speed. Quote ratios and medians of one run: machines differ and are noisy.

    python recipes/pretrain.py --budget "100 steps" --out runs/bench
    python recipes/benchmark.py feed --run runs/bench
    python recipes/benchmark.py tokenize --vocab vocab.txt --text 'english=texts/*.txt' --text russian=russian.txt

`feed`: what reading, drawing and masking examples costs: training steps on fresh batches beside steps on one batch kept in
memory, in turn.

`tokenize`: our tokenizer beside TensorFlow Text's FastBertTokenizer, KerasHub's and that of `tokenizers`, on one core and on
two, in turn (in random order): batches of 256 lines from memory, the first three through `tf.data`. By default on the English documentation
that is installed on the machine, with a vocabulary learned from it.
"""

import argparse
import glob
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def feed(run_directory: str, steps: int, rounds: int) -> dict:
    """Median seconds of a step with fresh and with kept batches, and the share of a step that feeding takes."""
    import keras

    from keras_bert.pretraining import PretrainingConfig, PretrainingRun

    with open(os.path.join(run_directory, "config.json"), encoding="utf-8") as file:
        run = PretrainingRun(PretrainingConfig(**json.load(file)), run_directory)
    run.compile(2 * steps * rounds + 2)
    fresh = run.batches(run.train, 0, steps * rounds)
    kept = fresh.take(1).cache().repeat(steps * rounds)
    ends: list[float] = []
    # Reading the loss waits for the step to end.
    clock = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: ends.append(float(logs["loss"]) * 0 + time.perf_counter())
    )
    times: dict[str, list[float]] = {"fresh": [], "kept": []}
    for turn in range(rounds + 1):
        for name, data in (("fresh", fresh), ("kept", kept)):
            ends.clear()
            run.model.fit(data, steps_per_epoch=steps, shuffle=False, verbose=0, callbacks=[clock])
            if turn:  # the first turn compiles
                times[name] += [end - start for start, end in itertools.pairwise(ends[4:])]
    medians = {name: statistics.median(values) for name, values in times.items()}
    rows = 0
    start = time.perf_counter()
    for batch, _ in run.batches(run.train, 0, steps):
        rows += len(batch["token_ids"])
    return {
        "step_s_fresh": round(medians["fresh"], 5),
        "step_s_kept": round(medians["kept"], 5),
        "feeding_share": round(1 - medians["kept"] / medians["fresh"], 4),
        "rows_per_s_without_training": round(rows / (time.perf_counter() - start)),
    }


_BATCH = 256  # lines
_LEAST_LINES = 20 * _BATCH  # a shorter text is repeated
_LEAST_SECONDS = 0.5  # a measurement repeats the text until it takes that long


def tokenize(vocab: str | None, texts: list[str], rounds: int, cores: list[int]) -> list[dict]:
    """Megabytes a second of each tokenizer, by text and number of cores; and how many lines it cuts in another way than ours.

    Args:
        vocab: path of an uncased `vocab.txt`; None to learn one from the first text.
        texts: `NAME=GLOB` each: text files, cut at line ends; empty for the installed documentation.
        rounds: measurements of each tokenizer, in turn.
        cores: numbers of cores; each is measured in a process of its own.
    """
    from keras_bert import WordPieceTokenizer
    from keras_bert.corpus.english_docs import installed_documentation
    from keras_bert.preprocessing.vocabulary import write_vocabulary

    lines = {}
    for item in texts or [f"documentation={glob.escape(installed_documentation())}"]:
        name, _, pattern = item.partition("=")
        lines[name] = _lines(pattern)
    with tempfile.TemporaryDirectory() as folder:
        if vocab is None:
            vocab = os.path.join(folder, "vocab.txt")
            write_vocabulary(WordPieceTokenizer.learn(next(iter(lines.values())), 30_000).vocabulary, vocab)
        path = os.path.join(folder, "lines.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(lines, file)
        results = []
        for count in cores:
            # TensorFlow and tokenizers size their thread pools when they start.
            code = f"import benchmark; benchmark._tokenize_on_cores({count}, {path!r}, {vocab!r}, {rounds})"
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
            done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.PIPE, text=True)
            results += [json.loads(line) for line in done.stdout.splitlines()]
    return results


def _lines(pattern: str) -> list[str]:
    lines: list[str] = []
    for path in sorted(glob.glob(pattern)):
        with open(path, encoding="utf-8") as file:
            lines += [line.strip() for line in file if line.strip()]
    if not lines:
        raise SystemExit(f"No text in {pattern}.")
    return lines


def _tokenize_on_cores(cores: int, path: str, vocab: str, rounds: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    os.environ["RAYON_NUM_THREADS"] = str(cores)
    import numpy as np
    import tensorflow as tf

    runs = _tokenizers(vocab, cores)
    with open(path, encoding="utf-8") as file:
        texts = json.load(file)
    for name, lines in texts.items():
        once = {"tensors": tf.data.Dataset.from_tensor_slices(lines).batch(_BATCH), "lists": _batches(lines)}
        rows = {tokenizer: list(ids(once[kind])) for tokenizer, (kind, _, ids) in runs.items()}
        many = lines * -(-_LEAST_LINES // len(lines))
        inputs = {"tensors": tf.data.Dataset.from_tensor_slices(many).batch(_BATCH).cache(), "lists": _batches(many)}
        size = sum(len(line.encode()) for line in many) / 1e6
        repeats = dict.fromkeys(runs, 1)
        for tokenizer, (kind, run, _) in runs.items():
            run(inputs[kind], 1)  # compiles, and fills the cache
            while min(_seconds(run, inputs[kind], repeats[tokenizer]) for _ in range(3)) < _LEAST_SECONDS:
                repeats[tokenizer] *= 2
        order = random.Random(0)
        speeds: dict[str, list[float]] = {tokenizer: [] for tokenizer in runs}
        for _ in range(rounds):
            for tokenizer in order.sample(list(runs), len(runs)):
                kind, run, _ = runs[tokenizer]
                speeds[tokenizer].append(repeats[tokenizer] * size / _seconds(run, inputs[kind], repeats[tokenizer]))
        for tokenizer in runs:
            result = {
                "text": name,
                "megabytes": round(size, 1),
                "cores": cores,
                "tokenizer": tokenizer,
                "megabytes_per_s": round(statistics.median(speeds[tokenizer]), 2),
                "lines": len(lines),
                "lines_unlike_ours": sum(not np.array_equal(a, b) for a, b in zip(rows[tokenizer], rows["keras_bert"], strict=True)),
            }
            print(json.dumps(result), flush=True)


def _batches(lines: list[str]) -> list[list[str]]:
    return [lines[start : start + _BATCH] for start in range(0, len(lines), _BATCH)]


def _seconds(run, data, repeats: int) -> float:
    start = time.perf_counter()
    run(data, repeats)
    return time.perf_counter() - start


def _tokenizers(vocab: str, cores: int) -> dict:
    """Name → what it takes, "tensors" or "lists"; a function that runs over these a number of times; one that gives the ids."""
    import keras_hub
    import tensorflow as tf
    import tensorflow_text as tf_text
    import tokenizers

    from keras_bert import WordPieceTokenizer
    from keras_bert.preprocessing.vocabulary import read_vocabulary

    options = tf.data.Options()
    options.threading.private_threadpool_size = cores
    options.threading.max_intra_op_parallelism = 1

    def through_a_dataset(tokenize):
        def run(dataset, repeats):
            dataset = dataset.repeat(repeats).map(tokenize, num_parallel_calls=cores).with_options(options)
            dataset.reduce(0, lambda count, ids: count + 1)

        return "tensors", run, lambda dataset: (row for ids in dataset.map(tokenize) for row in ids.to_list())

    def through_lists(tokenizer):
        def encode(batch):
            return tokenizer.encode_batch_fast(batch, add_special_tokens=False)

        def run(batches, repeats):
            for batch in itertools.chain.from_iterable(itertools.repeat(batches, repeats)):
                encode(batch)

        return "lists", run, lambda batches: (row.ids for batch in batches for row in encode(batch))

    pieces = read_vocabulary(vocab)
    fast_bert = tf_text.FastBertTokenizer(
        pieces, max_bytes_per_word=200, token_out_type=tf.int32, unknown_token="[UNK]", lower_case_nfd_strip_accents=True
    )
    hugging_face = tokenizers.BertWordPieceTokenizer({piece: id for id, piece in enumerate(pieces)}, lowercase=True)._tokenizer
    return {
        "keras_bert": through_a_dataset(WordPieceTokenizer(pieces)),
        "FastBertTokenizer": through_a_dataset(fast_bert.tokenize),
        "KerasHub": through_a_dataset(keras_hub.models.BertTokenizer(vocabulary=pieces, lowercase=True, strip_accents=True)),
        "tokenizers": through_lists(hugging_face),
    }


def _table(results: list[dict]) -> str:
    """Markdown: a row per text and number of cores, a column per tokenizer."""
    names = list(dict.fromkeys(result["tokenizer"] for result in results))
    lines = [f"| text | cores | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for (text, cores), group in itertools.groupby(results, lambda result: (result["text"], result["cores"])):
        own, *others = group
        cells = [f"**{own['megabytes_per_s']:.1f}**"]
        for other in others:
            ratio = own["megabytes_per_s"] / other["megabytes_per_s"]
            cells.append(f"{other['megabytes_per_s']:.1f} (ours {ratio:.2f}x; {other['lines_unlike_ours']} lines differ)")
        lines.append(f"| {text} | {cores} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments=None) -> int:
    """Prints one JSON line per measurement, and tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    feed_parser = commands.add_parser("feed", help="what feeding costs")
    feed_parser.add_argument("--run", required=True, help="folder of a run of recipes/pretrain.py")
    feed_parser.add_argument("--steps", type=int, default=40, help="steps per turn (default: %(default)s)")
    feed_parser.add_argument("--rounds", type=int, default=5, help="turns (default: %(default)s)")
    tokenize_parser = commands.add_parser("tokenize", help="speed of tokenizers")
    tokenize_parser.add_argument("--vocab", help="uncased vocab.txt (default: 30,000 pieces learned from the first text)")
    tokenize_parser.add_argument(
        "--text", action="append", default=[], metavar="NAME=GLOB", help="text files; repeat the flag for more (default: documentation)"
    )
    tokenize_parser.add_argument("--rounds", type=int, default=9, help="measurements of each (default: %(default)s)")
    tokenize_parser.add_argument("--cores", type=int, nargs="+", default=[1, 2], help="numbers of cores (default: 1 2)")
    values = parser.parse_args(arguments)
    if values.command == "feed":
        print(json.dumps(feed(values.run, values.steps, values.rounds)))
    else:
        results = tokenize(values.vocab, values.text, values.rounds, values.cores)
        print(*map(json.dumps, results), sep="\n")
        print(_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
