import numpy as np
import pytest
import tensorflow as tf

from keras_bert.preprocessing import DynamicMasking

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = SPECIAL + [("##" if i % 3 == 0 else "") + f"p{i}" for i in range(98)]
B, T, P = 2003, 61, 9


def rows(full=False):
    rng = np.random.default_rng(0)
    ids = rng.integers(len(SPECIAL), len(VOCABULARY), (B, T)).astype("int32")
    ids[:, 0] = 2
    lengths = np.full(B, T) if full else rng.integers(3, T + 1, B)
    for row, length in zip(ids, lengths, strict=True):
        row[length - 1] = 3
        row[length:] = 0
    return ids


def masked(ids, seeds, **options):
    layer = DynamicMasking(VOCABULARY, P, **options)
    return {key: value.numpy() for key, value in layer(ids, seeds).items()}


def put_back(out):
    """The corrupted rows with the original tokens at the predicted positions."""
    ids = out["token_ids"].copy()
    for row, positions, originals, weights in zip(ids, out["mask_positions"], out["mask_ids"], out["mask_weights"], strict=True):
        row[positions[weights == 1]] = originals[weights == 1]
    return ids


def test_exact_count_of_distinct_ordinary_tokens_in_ascending_order():
    ids = rows()
    out = masked(ids, np.arange(B))
    ordinary = (ids >= len(SPECIAL)).sum(1)
    expected = np.minimum(np.maximum(1, np.round(0.15 * ordinary)), np.minimum(P, ordinary))
    np.testing.assert_array_equal(out["mask_weights"].sum(1), expected)
    np.testing.assert_array_equal(put_back(out), ids)
    for positions, originals, weights in zip(out["mask_positions"], out["mask_ids"], out["mask_weights"], strict=True):
        count = int(weights.sum())
        assert (np.diff(positions[:count]) > 0).all()
        assert (originals[:count] >= len(SPECIAL)).all()
        assert not positions[count:].any() and not weights[count:].any()


def test_shares_are_80_10_10_and_random_tokens_are_uniform_over_ordinary_ones():
    ids = rows(full=True)
    out = masked(ids, np.arange(B))
    valid = out["mask_weights"] == 1
    new = np.take_along_axis(out["token_ids"], out["mask_positions"], 1)[valid]
    old = out["mask_ids"][valid]
    n, kinds = len(new), len(VOCABULARY) - len(SPECIAL)
    # One in `kinds` random tokens happens to be the old one. Five standard deviations either way.
    for share, expected in (((new == 4).mean(), 0.8), ((new == old).mean(), 0.1 + 0.1 / kinds)):
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n)
    drawn = np.bincount(new[(new != 4) & (new != old)], minlength=len(VOCABULARY))
    assert not drawn[: len(SPECIAL)].any()
    expected = drawn.sum() / kinds
    chi_squared = ((drawn[len(SPECIAL) :] - expected) ** 2 / expected).sum()
    assert chi_squared < kinds + 5 * np.sqrt(2 * kinds)


def test_every_position_is_chosen_equally_often():
    out = masked(rows(full=True), np.arange(B) * 7)
    count = np.bincount(out["mask_positions"].ravel(), minlength=T)
    assert count[0] == count[T - 1] == 0
    expected = B * P / (T - 2)
    assert (abs(count[1:-1] - expected) < 5 * np.sqrt(expected)).all()


def test_same_seed_masks_the_same_and_another_seed_differently():
    ids = rows(full=True)
    first, again, other = masked(ids, np.arange(B)), masked(ids, np.arange(B)), masked(ids, np.arange(B) + 10**12)
    for key in first:
        np.testing.assert_array_equal(first[key], again[key])
    # Independent choices of P among T - 2 overlap in P² / (T - 2) places on average.
    overlap = np.mean([len(set(a) & set(b)) for a, b in zip(first["mask_positions"], other["mask_positions"], strict=True)])
    assert abs(overlap - P * P / (T - 2)) < 0.15


def test_a_row_does_not_depend_on_its_batch_and_runs_inside_tf_data():
    ids, seeds = rows(), np.arange(B)
    whole = masked(ids, seeds)
    layer = DynamicMasking(VOCABULARY, P)
    parts = list(tf.data.Dataset.from_tensor_slices((ids[:21], seeds[:21])).batch(7).map(layer))
    for key in whole:
        np.testing.assert_array_equal(np.concatenate([part[key] for part in parts]), whole[key][:21])


def test_whole_words_are_chosen_together():
    ids = rows()
    out = masked(ids, np.arange(B), whole_word=True)
    np.testing.assert_array_equal(put_back(out), ids)
    suffix = np.array([piece.startswith("##") for piece in VOCABULARY])
    partly = 0
    for row, positions, weights in zip(ids, out["mask_positions"], out["mask_weights"], strict=True):
        ordinary = row >= len(SPECIAL)
        limit = min(max(1, round(0.15 * ordinary.sum())), P)
        chosen = np.zeros(T, bool)
        chosen[positions[weights == 1]] = True
        assert 0 < chosen.sum() <= limit or not ordinary.any()
        words = np.cumsum(~(suffix[row] & ordinary))
        of_words = [chosen[(words == word) & ordinary] for word in np.unique(words[chosen])]
        cut = [word for word in of_words if not word.all()]
        # Only a word that alone is longer than the limit may be cut, and then it is the only one.
        assert not cut or (len(of_words) == 1 and len(cut[0]) > limit)
        partly += bool(cut)
    assert 0 < partly < B / 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((["[UNK]", "a"], 3), r"must hold \[MASK\]"), ((VOCABULARY, 0), "max_predictions=0"), ((VOCABULARY, 3, 1.5), "rate=1.5")],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        DynamicMasking(*arguments)
