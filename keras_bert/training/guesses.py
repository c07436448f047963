"""What a model guesses for masked tokens, for people to read."""

import keras
import numpy as np


def guesses(model, batch: dict, originals: np.ndarray, vocabulary: list[str], top_k: int = 3, window: int = 7) -> list[dict]:
    """The best guesses for one masked token of each row, the middle one.

    Args:
        model: a `BertPretrainer`.
        batch: its inputs, (B, T) and (B, P).
        originals: `mask_ids`, int32 (B, P).
        vocabulary: the pieces.
        top_k: guesses per token.
        window: tokens of context shown on each side.

    Returns:
        One dictionary per row: `text`, with `**[MASK]**` where the token is (the others that the model did not see are
        `[MASK]`), `token`, and `guesses`, a list of (token, probability).
    """
    batch = {key: np.asarray(value) for key, value in batch.items()}
    middle = np.count_nonzero(batch["mask_positions"], axis=1) // 2  # filler stands at position 0, behind the others
    rows_index = np.arange(len(middle))
    logits = keras.ops.convert_to_numpy(model(batch, training=False)["mlm_logits"])[rows_index, middle]  # (B, V)
    probabilities = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities /= probabilities.sum(-1, keepdims=True)
    rows = []
    positions, tokens_there = batch["mask_positions"][rows_index, middle], np.asarray(originals)[rows_index, middle]
    for ids, mask, at, original, p in zip(batch["token_ids"], batch["padding_mask"], positions, tokens_there, probabilities, strict=True):
        tokens = [vocabulary[i] for i in ids[: mask.sum()]]
        tokens[at] = "**[MASK]**"
        best = np.argsort(-p)[:top_k]
        rows.append(
            {
                "text": join_pieces(tokens[max(0, at - window) : at + window + 1]),
                "token": vocabulary[original],
                "guesses": [(vocabulary[i], float(p[i])) for i in best],
            }
        )
    return rows


def join_pieces(pieces: list[str]) -> str:
    """`play ##ing` → `playing`, spaces elsewhere."""
    return " ".join(pieces).replace(" ##", "")


def as_markdown(rows: list[dict]) -> str:
    """A table for TensorBoard's text page."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    lines = ["| text | token | guesses |", "|---|---|---|"]
    for row in rows:
        shown = ", ".join(f"{cell(token)} {probability:.0%}" for token, probability in row["guesses"])
        lines.append(f"| {cell(row['text'])} | {cell(row['token'])} | {shown} |")
    return "\n".join(lines)
