"""Documents into two token stores: one to train on, one held out."""

import dataclasses
import os
from collections.abc import Iterable, Iterator

from keras_bert.corpus.documents import CorpusError, document_hash
from keras_bert.corpus.token_store import TokenStoreWriter

_EVERY = 20


@dataclasses.dataclass(frozen=True)
class SplitCounts:
    """What went where: documents and tokens to train on and held out, and the repeated documents that were dropped."""

    documents: int
    tokens: int
    heldout_documents: int
    heldout_tokens: int
    repeated: int


def write_stores(
    directory: str,
    tokenizer,
    documents: Iterable[list[str]],
    heldout_documents: Iterable[list[str]] | None,
    least_documents: int,
) -> SplitCounts:
    """Writes `directory/train` and `directory/heldout`, which never share a document.

    Repeated documents are dropped, also training documents that repeat a held-out one. Memory grows by about 60 bytes a
    document. Without `heldout_documents` every twentieth document is held out, and the fourth, so that a small corpus too
    has two of them.

    Raises:
        CorpusError: when one of the two would have fewer than `least_documents`; neither is left behind.
    """
    seen: set[int] = set()
    repeated = 0

    def new(source: Iterable[list[str]]) -> Iterator[list[str]]:
        nonlocal repeated
        for document in source:
            key = document_hash(document)
            if key in seen:
                repeated += 1
                continue
            seen.add(key)
            yield document

    train = TokenStoreWriter(os.path.join(directory, "train"), tokenizer)
    heldout = TokenStoreWriter(os.path.join(directory, "heldout"), tokenizer)
    with train, heldout:
        for document in new(heldout_documents or ()):
            heldout.add(document)
        for i, document in enumerate(new(documents)):
            held = heldout_documents is None and (i % _EVERY == 1 or i == 3)
            (heldout if held else train).add(document)
        train.flush()
        heldout.flush()
        for writer, name in ((train, "text to train on"), (heldout, "held-out text")):
            if writer.num_documents < least_documents:
                split = f" Every {_EVERY}th document is held out unless --heldout is given." if heldout_documents is None else ""
                pairs = " With --objective mlm one is enough." if writer.num_documents == 1 else ""
                raise CorpusError(
                    f"The {name} is too small: expected at least {least_documents} documents, separated by blank lines. "
                    f"Received: {writer.num_documents} with text; {repeated} more are repeated or also held out.{split}{pairs}"
                )
        train.close()
        heldout.close()
    return SplitCounts(train.num_documents, train.num_tokens, heldout.num_documents, heldout.num_tokens, repeated)
