"""Word-piece vocabularies: reading, writing, checking, learning from text."""

import collections
import hashlib
import os
from collections.abc import Iterable, Iterator

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SUFFIX = "##"
LONGEST_WORD = 200  # characters; longer words are unknown, as in the original code
_LONGEST_PIECE = 256  # bytes, the limit of TensorFlow Text's FastWordpieceTokenizer


def read_vocabulary(path: str | os.PathLike) -> list[str]:
    """Reads a `vocab.txt`: one piece per line, the line's number is the piece's id.

    Raises:
        FileNotFoundError: when there is no such file.
        ValueError: naming the line, when a line is empty or repeated, `[UNK]` is missing or the text is not UTF-8.
    """
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError(f"{path}, line 1 starts with a byte-order mark. Save the file as UTF-8 without one.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not valid UTF-8: byte {error.start}.") from None
    pieces = text.removesuffix("\n").split("\n") if text else []
    pieces = [piece.removesuffix("\r") for piece in pieces]
    check_vocabulary(pieces, source=str(path))
    return pieces


def check_vocabulary(pieces: list[str], source: str = "vocabulary") -> None:
    """Raises `ValueError` for an empty or repeated piece, or when `[UNK]` is missing."""
    lines: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        if not piece.strip():
            raise ValueError(f"{source}, line {number} is empty. Every line must hold a word piece.")
        if piece in lines:
            raise ValueError(f"{source}, line {number} repeats line {lines[piece]}: {piece!r}. Pieces must be unique.")
        lines[piece] = number
    if "[UNK]" not in lines:
        raise ValueError(f"{source} has no [UNK] among its {len(pieces)} pieces. Unknown words need it.")


def write_vocabulary(pieces: list[str], path: str | os.PathLike) -> None:
    """Writes one piece per line."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(piece + "\n" for piece in pieces)


def vocabulary_hash(pieces: list[str]) -> str:
    """A short hash by which a token store recognises its vocabulary."""
    return hashlib.blake2b("\n".join(pieces).encode(), digest_size=16).hexdigest()


def learn_vocabulary(batches_of_words: Iterable[list[str]], size: int) -> list[str]:
    """Learns a WordPiece vocabulary from normalised words with the trainer of `tokenizers`.

    The pieces are the special tokens, then the others from the most to the least frequent, ties by
    spelling; so the same words give the same list. The rarest characters get no piece, if there are more than a quarter of
    `size`.

    Args:
        batches_of_words: lists of words, normalised and split as the tokenizer does. Memory grows with the number
            of distinct words, not with the number of words.
        size: number of pieces to learn at most, special tokens included.

    Raises:
        ValueError: when there are no words, or `size` leaves no room for the characters of the text.
    """
    import tokenizers

    counts: collections.Counter[str] = collections.Counter()
    for words in batches_of_words:
        # Longer words become [UNK] whatever is learned, and the trainer's time grows with the square of a word's length.
        counts.update(word for word in words if len(word) <= LONGEST_WORD and len(word.encode()) <= _LONGEST_PIECE)
    if not counts:
        raise ValueError("No words to learn a vocabulary from: the text is empty.")
    characters: collections.Counter[str] = collections.Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    kept = set(sorted(characters, key=lambda c: (-characters[c], c))[: max(1, size // 4)])
    known = {word: count for word, count in counts.items() if kept.issuperset(word)}
    if not known:
        raise ValueError(
            f"A vocabulary of {size} pieces has no room for the characters of the text. "
            f"Received: size={size}; choose at least {len(SPECIAL_TOKENS) + 4 * len(characters)}."
        )

    def repeated() -> Iterator[str]:
        for word, count in known.items():
            for start in range(0, count, 1000):
                yield " ".join([word] * min(1000, count - start))

    # The trainer numbers characters inside words in the order of a randomly seeded hash table, and breaks ties by these
    # numbers. Named beforehand, they get the same numbers every time.
    inner = sorted({SUFFIX + character for word in known for character in word[1:]})
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD))
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[*SPECIAL_TOKENS, *inner], continuing_subword_prefix=SUFFIX, show_progress=False
    )
    model.train_from_iterator(repeated(), trainer)
    frequency: collections.Counter[str] = collections.Counter()
    words = list(counts)
    for start in range(0, len(words), 10_000):
        chunk = words[start : start + 10_000]
        for word, encoding in zip(chunk, model.encode_batch(chunk), strict=True):
            for piece in encoding.tokens:
                frequency[piece] += counts[word]
    learned = [piece for piece in model.get_vocab() if piece not in SPECIAL_TOKENS]
    if len(SPECIAL_TOKENS) + len(learned) > size:
        raise ValueError(
            f"A vocabulary of {size} pieces has no room for the characters of the text. "
            f"Received: size={size}; choose at least {len(SPECIAL_TOKENS) + len(learned)}."
        )
    return [*SPECIAL_TOKENS, *sorted(learned, key=lambda piece: (-frequency[piece], piece))]
