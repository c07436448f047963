import json
import os

import numpy as np
import pytest

from keras_bert.corpus.token_store import TokenStoreWriter, open_token_store
from keras_bert.preprocessing import WordPieceTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZER = WordPieceTokenizer([*SPECIAL, "a", "b", "c", "."])
DOCUMENTS = [["a b. c.", "b"], ["  "], ["c c c ."]]


def write(path, documents=DOCUMENTS, tokenizer=TOKENIZER):
    with TokenStoreWriter(str(path), tokenizer) as writer:
        for document in documents:
            writer.add(document)
        writer.close()
    return open_token_store(str(path), tokenizer.vocabulary)


def test_documents_sentences_and_tokens_come_back(tmp_path):
    store = write(tmp_path / "store")
    assert store.tokens.tolist() == [5, 6, 8, 7, 8, 6, 7, 7, 7, 8]
    assert store.sentences.tolist() == [0, 3, 5, 6, 10]
    assert store.documents.tolist() == [0, 3, 4]  # the empty document is not there
    assert store.token_counts(9).tolist() == [0, 0, 0, 0, 0, 1, 2, 4, 3]


def test_two_bytes_a_token_up_to_65536_pieces_and_four_beyond(tmp_path):
    extra = [f"w{i}" for i in range(1 << 16)]
    small = WordPieceTokenizer([*TOKENIZER.vocabulary, *extra][: 1 << 16])
    large = WordPieceTokenizer([*TOKENIZER.vocabulary, *extra][: (1 << 16) + 1])
    assert write(tmp_path / "small", tokenizer=small).tokens.dtype.itemsize == 2
    store = write(tmp_path / "large", [[large.vocabulary[-1]]], large)
    assert store.tokens.dtype.itemsize == 4
    assert store.tokens.tolist() == [1 << 16]


def test_a_changed_vocabulary_is_noticed(tmp_path):
    write(tmp_path / "store")
    with pytest.raises(ValueError, match="another vocabulary"):
        open_token_store(str(tmp_path / "store"), [*TOKENIZER.vocabulary[:-1], "!"])


def test_a_damaged_file_is_named(tmp_path):
    write(tmp_path / "store")
    with open(tmp_path / "store" / "tokens.bin", "ab") as file:
        file.truncate(7)
    with pytest.raises(ValueError, match=r"tokens\.bin is damaged: expected 20 bytes\. Received: 7"):
        open_token_store(str(tmp_path / "store"), TOKENIZER.vocabulary)


def test_an_error_while_writing_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), TokenStoreWriter(str(tmp_path / "store"), TOKENIZER) as writer:
        writer.add(["a"])
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_the_counts_stand_in_the_metadata(tmp_path):
    write(tmp_path / "store")
    with open(tmp_path / "store" / "store.json", encoding="utf-8") as file:
        meta = json.load(file)
    assert (meta["num_documents"], meta["num_sentences"], meta["num_tokens"]) == (2, 4, 10)
    assert np.dtype(meta["dtype"]) == np.dtype("<u2")
