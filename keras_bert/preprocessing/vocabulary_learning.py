"""Learning a word-piece vocabulary from text, with the trainer of `tokenizers`."""

import collections
import os
from collections.abc import Iterable, Iterator

from keras_bert.preprocessing.vocabulary import LONGEST_PIECE, LONGEST_WORD, SPECIAL_TOKENS, SUFFIX

_MOST_WORDS = 2_000_000  # distinct words kept while counting, about 300 MB
_LARGEST_TOTAL = 20_000_000  # words shown to the trainer
# The trainer merges pairs, and leaves pieces that longest-match-first rarely uses. So more pieces than wanted are
# trained, and the least used go in steps: 1.3 % fewer tokens a word at 8,192 pieces of 19 MB of English.
_SURPLUS = (1.3, 1.2, 1.1, 1.0)


def batches_of_texts(texts_or_files: Iterable[str | os.PathLike]) -> Iterator[list[str]]:
    """Texts, and the lines of files, in lists of about a million characters."""
    if isinstance(texts_or_files, (str, os.PathLike)):
        raise TypeError(
            "Expected a list or another iterable of texts, or of files as pathlib.Path. Received: one string or path; put it into a list."
        )
    if isinstance(texts_or_files, list) and texts_or_files and all(map(_is_file_name, texts_or_files)):
        raise ValueError(f"{texts_or_files[0]!r} is a file. Pass files as pathlib.Path, as strings are taken for texts.")
    batch: list[str] = []
    characters = 0
    for item in texts_or_files:
        if not isinstance(item, (str, os.PathLike)):
            raise TypeError(f"texts must be strings or pathlib.Path. Received: {item!r}")
        for text in _lines(item) if isinstance(item, os.PathLike) else (item,):
            batch.append(text)
            characters += len(text)
            if characters > 1_000_000 or len(batch) == 10_000:
                yield batch
                batch, characters = [], 0
    if batch:
        yield batch


def learn_vocabulary(batches_of_words: Iterable[list[bytes]], size: int, unused: int = 0) -> list[str]:
    """Learns a WordPiece vocabulary from normalised words.

    The pieces are the special tokens, the unused slots, then the others from the most to the least frequent, ties by
    spelling; so the same words give the same list. The rarest characters get no piece, if there are more than a quarter of
    `size`.

    Args:
        batches_of_words: lists of UTF-8 words, normalised and split as the tokenizer does. At most 2,000,000 distinct words
            are kept: whenever there are more, the rarest go, so that memory is bounded whatever the amount of text.
        size: number of pieces to learn at most, special tokens and unused slots included.
        unused: number of slots `[unused0]`, `[unused1]`, ….

    Raises:
        ValueError: when there are no words, or `size` leaves no room for the characters of the text.
    """
    reserved = [*SPECIAL_TOKENS, *(f"[unused{i}]" for i in range(unused))]
    counts = _count(batches_of_words)
    if not counts:
        raise ValueError(
            f"No words to learn a vocabulary from: the text is empty, or has only words of more than {LONGEST_WORD} characters."
        )
    characters: collections.Counter[str] = collections.Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    kept = set(sorted(characters, key=lambda c: (-characters[c], c))[: max(1, (size - unused) // 4)])
    known = {word: count for word, count in counts.items() if kept.issuperset(word)}
    if not known:
        raise ValueError(
            f"A vocabulary of {size} pieces has no room for the characters of the text. "
            f"Received: size={size}; choose at least {len(reserved) + 4 * len(characters)}."
        )
    pieces = _train(known, round(_SURPLUS[0] * (size - unused)))
    for surplus in _SURPLUS[1:]:
        frequency = _frequencies(pieces, counts)
        # Characters stay, so that every word can be spelled; of the rest, what longest-match-first uses most.
        ranked = sorted(pieces, key=lambda piece: (len(piece.removeprefix(SUFFIX)) > 1, -frequency[piece], piece))
        pieces = ranked[: round(surplus * (size - len(reserved)))]
    frequency = _frequencies(pieces, counts)
    least = len(reserved) + sum(len(piece.removeprefix(SUFFIX)) == 1 for piece in ranked)
    if least > size:
        raise ValueError(
            f"A vocabulary of {size} pieces has no room for the characters of the text. Received: size={size}; choose at least {least}."
        )
    return [*reserved, *sorted(pieces, key=lambda piece: (-frequency[piece], piece))]


def _count(batches_of_words: Iterable[list[bytes]]) -> dict[str, int]:
    """How often each word occurs, for the words that are not among the rarest of too many."""
    counts: collections.Counter[bytes] = collections.Counter()
    for words in batches_of_words:
        counts.update(words)
        if len(counts) > _MOST_WORDS:
            # The rarest go, until half of the room is free: as in lossy counting (Manku and Motwani, 2002), words that
            # are frequent, from the start or only later, lose next to nothing.
            least = 1
            while len(counts) > _MOST_WORDS // 2:
                least += 1
                counts = collections.Counter({word: count for word, count in counts.items() if count >= least})
    # Longer words become [UNK] whatever is learned, and the trainer's time grows with the square of a word's length.
    decoded = ((word.decode(), count) for word, count in counts.items() if len(word) <= 4 * LONGEST_WORD)
    return {word: count for word, count in decoded if len(word) <= LONGEST_WORD}


def _train(counts: dict[str, int], size: int) -> list[str]:
    """Pieces by the trainer of `tokenizers`, without the special tokens."""
    import tokenizers

    # There cannot be more pieces, and the trainer takes memory for all that it is asked for.
    size = min(size, len(SPECIAL_TOKENS) + 4 * sum(map(len, counts)))
    shrink = max(1.0, sum(counts.values()) / _LARGEST_TOTAL)

    def repeated() -> Iterator[str]:
        for word, count in counts.items():
            count = max(1, round(count / shrink))
            for start in range(0, count, 1000):
                yield " ".join([word] * min(1000, count - start))

    # The trainer numbers characters inside words in the order of a randomly seeded hash table, and breaks ties by these
    # numbers. Named beforehand, they get the same numbers every time.
    inner = sorted({SUFFIX + character for word in counts for character in word[1:]})
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[*SPECIAL_TOKENS, *inner], continuing_subword_prefix=SUFFIX, show_progress=False
    )
    model.train_from_iterator(repeated(), trainer)
    return [p for p in model.get_vocab() if p not in SPECIAL_TOKENS and len(p.removeprefix(SUFFIX).encode()) <= LONGEST_PIECE]


def _frequencies(pieces: list[str], counts: dict[str, int]) -> collections.Counter[str]:
    """How often each piece is used when the words are cut into pieces, longest match first."""
    import tokenizers

    numbers = {piece: number for number, piece in enumerate(["[UNK]", *pieces])}
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD))
    frequency: collections.Counter[str] = collections.Counter()
    words = list(counts)
    for start in range(0, len(words), 10_000):
        chunk = words[start : start + 10_000]
        for word, encoding in zip(chunk, model.encode_batch(chunk), strict=True):
            for piece in encoding.tokens:
                frequency[piece] += counts[word]
    return frequency


def _is_file_name(item) -> bool:
    return isinstance(item, str) and len(item) < 1000 and os.path.isfile(item)


def _lines(path: os.PathLike) -> Iterator[str]:
    with open(path, encoding="utf-8") as file:
        try:
            yield from file
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not valid UTF-8: {error.reason}. Convert it to UTF-8.") from None
