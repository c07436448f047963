import os

import pytest

from keras_bert.corpus.documents import CorpusError
from keras_bert.corpus.split import write_stores
from keras_bert.corpus.token_store import open_token_store
from keras_bert.preprocessing import WordPieceTokenizer

TOKENIZER = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(100))])


def words(store):
    """The word that each one-word document holds."""
    return {TOKENIZER.vocabulary[i] for i in store.tokens}


def split(tmp_path, documents, heldout=None, least=1):
    counts = write_stores(str(tmp_path), TOKENIZER, documents, heldout, least)
    return counts, *(words(open_token_store(str(tmp_path / name), TOKENIZER.vocabulary)) for name in ("train", "heldout"))


def test_every_twentieth_document_and_the_fourth_are_held_out(tmp_path):
    counts, train, heldout = split(tmp_path, [[f"w{i}"] for i in range(50)])
    assert heldout == {"w1", "w3", "w21", "w41"}
    assert train == {f"w{i}" for i in range(50)} - heldout
    assert (counts.documents, counts.heldout_documents) == (46, 4)


def test_repeated_documents_are_dropped_and_counted_also_across_the_split(tmp_path):
    counts, train, heldout = split(tmp_path, [["w1"], ["w2"], ["w1"], ["w9"], ["w3"]], [["w9"], ["w9"]])
    assert (train, heldout, counts.repeated) == ({"w1", "w2", "w3"}, {"w9"}, 3)


def test_too_few_documents_are_an_error_that_leaves_nothing(tmp_path):
    with pytest.raises(CorpusError, match=r"expected at least 2 documents.*Received: 1 with text; 1 more are repeated.*--objective mlm"):
        split(tmp_path, [["w1"], ["w1"]], [["w2"], ["w3"]], least=2)
    assert os.listdir(tmp_path) == []
