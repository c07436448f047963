"""Pretrains a BERT from raw text.

    python recipes/pretrain.py
    python recipes/pretrain.py --corpus 'texts/*.txt' --heldout heldout.txt --size small --budget 2h --out runs/small

Without --corpus it reads the English documentation that is installed here. The same command continues an unfinished run.
"""

import argparse
import dataclasses
import json
import os
import signal
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from keras_bert import BertMaskedLM, PretrainingConfig, pretrain
from keras_bert.corpus.documents import CorpusError
from keras_bert.training.callbacks import NonFiniteLoss
from keras_bert.training.run_folder import RunError

SENTENCES = (
    "the capital of france is [MASK].",
    "returns the [MASK] of the list.",
    "if the file does not [MASK], an error is raised.",
    "he opened the [MASK] and looked out of the window.",
)


def parse(arguments=None) -> tuple[PretrainingConfig, str]:
    """The flags are the fields of `PretrainingConfig`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="runs/pretrain", help="the run's folder (default: %(default)s)")
    fields = dataclasses.fields(PretrainingConfig)
    for field in fields:
        flag = "--" + field.name.replace("_", "-")
        if field.type is bool:
            parser.add_argument(flag, action="store_true", help=field.metadata["help"])
        else:
            shown = f" (default: {field.default})" if field.default else ""
            parser.add_argument(flag, type=field.type, default=field.default, help=field.metadata["help"] + shown)
    values = vars(parser.parse_args(arguments))
    out = values.pop("out")
    return PretrainingConfig(**values), os.path.normpath(out)


def plot(directory: str, unigram_loss: float) -> str:
    """Draws `curves.png` from `log.jsonl`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with open(os.path.join(directory, "log.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    scored = [row for row in rows if "heldout_mlm_loss" in row]
    steps, scored_steps = [row["step"] for row in rows], [row["step"] for row in scored]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(steps, [row["mlm_loss"] for row in rows], label="training")
    left.plot(scored_steps, [row["heldout_mlm_loss"] for row in scored], "o-", label="held out")
    left.axhline(unigram_loss, color="grey", linestyle="--", label="guessing token frequencies")
    left.set(xlabel="step", ylabel="masked-LM loss (nats)", title="Masked-LM loss")
    for task, name in (("mlm", "masked tokens"), ("nsp", "next sentence")):
        if f"{task}_accuracy" in rows[0]:
            (line,) = right.plot(steps, [row[f"{task}_accuracy"] for row in rows], label=f"{name}, training")
            heldout = [row[f"heldout_{task}_accuracy"] for row in scored]
            right.plot(scored_steps, heldout, "o--", color=line.get_color(), label=f"{name}, held out")
    right.set(xlabel="step", ylabel="accuracy", title="Accuracy", ylim=(0, 1))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    path = os.path.join(directory, "curves.png")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def show(summary: dict) -> None:
    """Prints the summary table."""
    unigram, loss = summary["heldout_unigram_loss"], summary["heldout_mlm_loss"]
    rows = [
        ("steps", f"{summary['steps']:,} in {summary['training_seconds']:,.0f} s ({summary['tokens_per_second']:,} tokens/s)"),
        ("held-out masked-LM loss", f"{loss:.3f} nats"),
        (
            "  guessing token frequencies",
            f"{unigram:.3f} nats; the model is {abs(unigram - loss):.3f} {'under' if loss < unigram else 'OVER'} it",
        ),
        ("held-out masked-LM accuracy", f"{summary['heldout_mlm_accuracy']:.1%}"),
    ]
    if "heldout_nsp_accuracy" in summary:
        accuracy, nsp_loss = summary["heldout_nsp_accuracy"], summary["heldout_nsp_loss"]
        rows.append(("held-out next-sentence accuracy", f"{accuracy:.1%} (loss {nsp_loss:.3f} nats)"))
    print()
    for name, value in rows:
        print(f"  {name:32} {value}")
    if loss >= unigram:
        print("  It has learned nothing yet: train longer (--budget), or with a lower --learning-rate.")
    print()


def fill_in(directory: str) -> None:
    """Shows what the pretrained model says for a few masked sentences."""
    model = BertMaskedLM.from_preset(os.path.join(directory, "preset"))
    for sentence, answers in zip(SENTENCES, model.fill_mask(list(SENTENCES), top_k=4), strict=True):
        shown = ", ".join(f"{answer['token']} {answer['score']:.0%}" for answer in answers[0])
        print(f"  {sentence:52} {shown}")
    print()


def main(arguments=None) -> int:
    """Returns the exit code: 0 done, 2 bad input, 3 non-finite loss, 130 stopped by a signal."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until training begins it ends the recipe as Ctrl-C does
    try:
        config, out = parse(arguments)
        shown = os.path.exists(os.path.join(out, "curves.png"))
        summary = pretrain(config, out, report=lambda line: print(line, flush=True))
        if summary is None:
            return 130
        if not shown:
            show(summary)
            fill_in(out)
            print(f"Curves: {plot(out, summary['heldout_unigram_loss'])}")
            print(f"More: tensorboard --logdir {out}/tensorboard")
        print(f"Model: keras_bert.BertMaskedLM.from_preset({os.path.join(out, 'preset')!r})")
        return 0
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from the last checkpoint, or starts anew if there is none.", file=sys.stderr)
        return 130
    except NonFiniteLoss as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except (CorpusError, RunError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        remedy = "Make room there or choose another --out, then run the same command again."
        print(f"error: {error.strerror}, writing to {error.filename or out}. {remedy}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
