"""Tokens on disk, readable at random.

A store is a folder of four files:

    tokens.bin     all pieces, one after the other; uint16 up to 65,536 pieces in the vocabulary, else uint32
    sentences.bin  int64: where each sentence starts in tokens.bin, then the number of tokens
    documents.bin  int64: the first sentence of each document, then the number of sentences
    store.json     the counts, the type of tokens.bin, and the hash of the vocabulary

All are memory-mapped, so that a store costs no memory and any example of it the same time. A store is written beside
its place and renamed when it is complete.
"""

import contextlib
import dataclasses
import itertools
import json
import os
import shutil

import numpy as np

from keras_bert.corpus.documents import split_sentences
from keras_bert.preprocessing.vocabulary import vocabulary_hash

_SENTENCES_PER_BATCH = 4096


@dataclasses.dataclass(frozen=True)
class TokenStore:
    """An open store: `tokens` (uint16 or uint32), `sentences` and `documents` (int64)."""

    tokens: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self.documents) - 1

    def token_counts(self, vocabulary_size: int) -> np.ndarray:
        """How often each piece occurs: int64 (V,)."""
        counts = np.zeros(vocabulary_size, "int64")
        for start in range(0, len(self.tokens), 1 << 22):
            counts += np.bincount(self.tokens[start : start + (1 << 22)], minlength=vocabulary_size)
        return counts


class TokenStoreWriter:
    """Writes documents into a new store; `close` puts it in place. Use it as a context manager: an error leaves nothing.

    Args:
        directory: where the store will stand. Must not exist.
        tokenizer: a `WordPieceTokenizer`.
    """

    def __init__(self, directory: str, tokenizer):
        self.directory = directory
        self.partial = f"{directory}.partial"
        self.tokenizer = tokenizer
        size = tokenizer.vocabulary_size()
        self.dtype = np.dtype("uint16" if size <= 1 << 16 else "uint32").newbyteorder("<")
        self.num_tokens = self.num_sentences = self.num_documents = 0
        self._pending: list[list[str]] = []
        self._num_pending = 0
        if os.path.exists(directory):
            raise FileExistsError(f"A token store stands already at {directory}. Open it, or remove it first.")
        shutil.rmtree(self.partial, ignore_errors=True)
        os.makedirs(self.partial)
        self._files = contextlib.ExitStack()
        self._tokens, self._sentences, self._documents = (
            self._files.enter_context(open(os.path.join(self.partial, name), "wb"))  # noqa: SIM115
            for name in ("tokens.bin", "sentences.bin", "documents.bin")
        )

    def add(self, document: list[str]) -> None:
        """Appends a document: its lines are cut into sentences, and these into pieces."""
        sentences = [sentence for line in document for sentence in split_sentences(line)]
        self._pending.append(sentences)
        self._num_pending += len(sentences)
        if self._num_pending >= _SENTENCES_PER_BATCH:
            self.flush()

    def flush(self) -> None:
        """Writes what is pending, so that the counts are complete."""
        sentences = list(itertools.chain.from_iterable(self._pending))
        if sentences:
            ids = self.tokenizer(sentences)
            self._tokens.write(ids.flat_values.numpy().astype(self.dtype).tobytes())
            lengths = ids.row_lengths().numpy()
            start = 0
            for document in self._pending:
                self._add_lengths(lengths[start : start + len(document)])
                start += len(document)
        self._pending = []
        self._num_pending = 0

    def _add_lengths(self, lengths: np.ndarray) -> None:
        lengths = lengths[lengths > 0].astype("int64")
        if not len(lengths):
            return
        starts = self.num_tokens + np.cumsum(lengths) - lengths
        self._sentences.write(starts.astype("<i8").tobytes())
        self._documents.write(np.int64(self.num_sentences).astype("<i8").tobytes())
        self.num_tokens += int(lengths.sum())
        self.num_sentences += len(lengths)
        self.num_documents += 1

    def close(self) -> None:
        """Completes the store and renames it into place."""
        self.flush()
        self._sentences.write(np.int64(self.num_tokens).astype("<i8").tobytes())
        self._documents.write(np.int64(self.num_sentences).astype("<i8").tobytes())
        self._files.close()
        meta = {
            "dtype": self.dtype.str,
            "num_tokens": self.num_tokens,
            "num_sentences": self.num_sentences,
            "num_documents": self.num_documents,
            "vocabulary": vocabulary_hash(self.tokenizer.vocabulary),
        }
        with open(os.path.join(self.partial, "store.json"), "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=2)
        os.replace(self.partial, self.directory)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._files.close()
        shutil.rmtree(self.partial, ignore_errors=True)


def open_token_store(directory: str, vocabulary: list[str]) -> TokenStore:
    """Opens a store that was written with this vocabulary.

    Raises:
        ValueError: when the store was written with another vocabulary, or a file of it has another size than noted.
    """
    with open(os.path.join(directory, "store.json"), encoding="utf-8") as file:
        meta = json.load(file)
    if meta["vocabulary"] != vocabulary_hash(vocabulary):
        raise ValueError(f"The token store {directory} was written with another vocabulary. Remove it to build it again.")

    def mapped(name: str, dtype: str, length: int) -> np.ndarray:
        path = os.path.join(directory, name)
        expected = length * np.dtype(dtype).itemsize
        if os.path.getsize(path) != expected:
            raise ValueError(
                f"{path} is damaged: expected {expected} bytes. Received: {os.path.getsize(path)}. Remove the store to build it again."
            )
        return np.memmap(path, dtype, "r") if length else np.zeros(0, dtype)

    return TokenStore(
        mapped("tokens.bin", meta["dtype"], meta["num_tokens"]),
        mapped("sentences.bin", "<i8", meta["num_sentences"] + 1),
        mapped("documents.bin", "<i8", meta["num_documents"] + 1),
    )
