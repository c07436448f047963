import numpy as np
import pytest

from keras_bert.corpus.examples import Examples, batches
from keras_bert.corpus.token_store import TokenStore
from keras_bert.preprocessing import DynamicMasking

CLS, SEP, PAD = 2, 3, 0
SPECIALS = {"cls_id": CLS, "sep_id": SEP, "pad_id": PAD}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def store(num_documents=23, seed=0, longest=400):
    """Tokens that name their place in the corpus, so that a row tells where it is from."""
    rng = np.random.default_rng(seed)
    sentences, documents = [0], [0]
    for _ in range(num_documents):
        for _ in range(rng.integers(1, longest // 10)):
            sentences.append(sentences[-1] + int(rng.integers(1, 20)))
        documents.append(len(sentences) - 1)
    return TokenStore(np.arange(10, 10 + sentences[-1], dtype="uint32"), np.array(sentences), np.array(documents))


def parts(row, mask):
    """A and B of a packed pair."""
    inner = row[: mask.sum()]
    first, last = np.flatnonzero(inner == SEP)
    assert inner[0] == CLS and last == len(inner) - 1
    return inner[1:first] - 10, inner[first + 1 : last] - 10


def pairs(corpus, length=64, n=3000, seed=5):
    examples = Examples(corpus, length, next_sentence=True, seed=seed, **SPECIALS)
    return examples, examples(np.arange(n))


def test_b_follows_a_or_comes_from_another_document():
    corpus = store()
    _, rows = pairs(corpus)
    starts = corpus.sentences[corpus.documents]
    sides = [parts(*row) for row in zip(rows["token_ids"], rows["padding_mask"], strict=True)]
    borders = set(corpus.sentences.tolist())
    for (a, b), label, mask, segments in zip(sides, rows["next_sentence_labels"], rows["padding_mask"], rows["segment_ids"], strict=True):
        assert (np.diff(a) == 1).all() and (np.diff(b) == 1).all() and len(a) and len(b)
        document_a, document_b = (np.searchsorted(starts, side[[0, -1]], "right") for side in (a, b))
        assert document_a[0] == document_a[1] and document_b[0] == document_b[1]
        assert (document_a[0] == document_b[0]) == (label == 0)
        assert segments.tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * (64 - mask.sum())
        if len(a) + len(b) < 61:  # nothing was cut: both sides are whole sentences, and a true B starts where A ends
            assert {a[0], a[-1] + 1, b[0], b[-1] + 1} <= borders
            assert label == 1 or b[0] == a[-1] + 1


def test_half_of_the_pairs_are_random_and_one_in_ten_rows_is_short():
    # Documents of 10 to 39 sentences: a chunk always has two sentences to divide.
    rng = np.random.default_rng(1)
    sentences = np.concatenate([[0], np.cumsum(rng.integers(3, 15, 6000))])
    corpus = TokenStore(np.arange(10, 10 + sentences[-1], dtype="uint32"), sentences, np.arange(0, 6001, 30))
    _, rows = pairs(corpus, n=10_000)
    assert abs(rows["next_sentence_labels"].mean() - 0.5) < 5 * 0.5 / 100
    short = (rows["padding_mask"].sum(1) < 64)[rows["next_sentence_labels"] == 0]
    # Also a short target can be overshot to the full length by its last sentence.
    assert 0.05 < short.mean() < 0.13


def test_an_epoch_visits_every_place_once_and_the_next_one_otherwise():
    corpus = store(longest=4000)
    examples = Examples(corpus, 34, next_sentence=False, seed=1, **SPECIALS)
    n = examples.per_epoch
    epochs = [examples(np.arange(n) + epoch * n)["token_ids"][:, 1:-1] for epoch in range(2)]
    for rows in epochs:
        assert (np.diff(rows, axis=1) == 1).all()
        assert len(np.unique(rows)) == n * 32 > len(corpus.tokens) - 2 * 32
    assert (np.sort(epochs[0][:, 0]) != epochs[0][:, 0]).mean() > 0.9  # shuffled
    assert (epochs[0] != epochs[1]).mean() > 0.9


def test_pairs_of_an_epoch_cover_the_corpus():
    corpus = store(longest=4000)
    examples, _ = pairs(corpus, n=1)
    rows = examples(np.arange(3 * examples.per_epoch))
    assert len(np.unique(rows["token_ids"])) > 0.97 * len(corpus.tokens)


def test_an_example_depends_on_nothing_but_seed_and_index():
    corpus = store()
    examples, rows = pairs(corpus, n=500)
    some = examples(np.array([400, 7, 7, 123]))
    for key in rows:
        np.testing.assert_array_equal(some[key], rows[key][[400, 7, 7, 123]])
    _, other = pairs(corpus, n=500, seed=6)
    assert (other["token_ids"] != rows["token_ids"]).mean() > 0.5
    assert len(np.unique(rows["seeds"])) == 500


def test_cuts_are_spread_over_both_ends_of_a_too_long_side():
    # Two documents of one 100-token sentence each: A must lose tokens, and B is always random.
    corpus = TokenStore(np.arange(10, 210, dtype="uint32"), np.array([0, 100, 200]), np.array([0, 1, 2]))
    _, rows = pairs(corpus, length=23, n=2000)
    assert (rows["next_sentence_labels"] == 1).all()
    a = np.array([parts(*row)[0][0] % 100 for row in zip(rows["token_ids"], rows["padding_mask"], strict=True)])
    assert ((rows["padding_mask"].sum(1)) == 23).all()
    # 90 tokens of 100 go (A keeps 10 of 20): binomial with mean 45 and variance 22.5.
    assert abs(a.mean() - 45) < 0.6 and abs(a.var() - 22.5) < 4


def test_batches_from_a_later_step_equal_those_of_the_whole_run():
    corpus = store()
    vocabulary = VOCABULARY + [f"w{i}" for i in range(len(corpus.tokens) + 10)]
    masking = DynamicMasking(vocabulary, 9)
    examples = Examples(corpus, 64, next_sentence=True, seed=3, **SPECIALS)
    whole = list(batches(examples, masking, 7, 0, 6))
    later = list(batches(examples, masking, 7, 4, 6))
    assert (len(whole), len(later)) == (6, 2)
    for step in (4, 5):
        for group, again in zip(whole[step], later[step - 4], strict=True):
            for key in group:
                np.testing.assert_array_equal(group[key], again[key])


def test_too_small_corpora_are_refused():
    empty = TokenStore(np.zeros(0, "uint16"), np.zeros(1, "int64"), np.zeros(1, "int64"))
    with pytest.raises(ValueError, match="empty"):
        Examples(empty, 64, next_sentence=False, seed=0, **SPECIALS)
    with pytest.raises(ValueError, match="at least two documents.*--objective mlm"):
        Examples(store(num_documents=1), 64, next_sentence=True, seed=0, **SPECIALS)


def test_a_corpus_shorter_than_a_row_is_padded():
    corpus = TokenStore(np.arange(10, 15, dtype="uint16"), np.array([0, 5]), np.array([0, 1]))
    rows = Examples(corpus, 16, next_sentence=False, seed=0, **SPECIALS)(np.arange(3))
    np.testing.assert_array_equal(rows["token_ids"], [[CLS, 10, 11, 12, 13, 14, SEP, *[PAD] * 9]] * 3)
