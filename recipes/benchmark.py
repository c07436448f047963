"""Measures speed. Quote ratios and medians of one run: machines differ and are noisy.

    python recipes/pretrain.py --budget "100 steps" --out runs/bench
    python recipes/benchmark.py feed --run runs/bench

`feed`: what reading, drawing and masking examples costs: training steps on fresh batches beside steps on one batch kept in
memory, in turn.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
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


def main(arguments=None) -> int:
    """Prints one JSON line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    feed_parser = commands.add_parser("feed", help="what feeding costs")
    feed_parser.add_argument("--run", required=True, help="folder of a run of recipes/pretrain.py")
    feed_parser.add_argument("--steps", type=int, default=40, help="steps per turn (default: %(default)s)")
    feed_parser.add_argument("--rounds", type=int, default=5, help="turns (default: %(default)s)")
    values = parser.parse_args(arguments)
    print(json.dumps(feed(values.run, values.steps, values.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
