"""Word-piece vocabularies: reading, writing, checking."""

import hashlib
import os

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SUFFIX = "##"
LONGEST_WORD = 200  # characters; longer words are unknown, as in the original code
LONGEST_PIECE = 256  # bytes, the limit of TensorFlow Text's FastWordpieceTokenizer


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
    """Raises `ValueError` for an empty, repeated, overlong or undecodable piece, or when `[UNK]` is missing; `TypeError` for no string."""
    lines: dict[str, int] = {}
    for number, piece in enumerate(pieces, 1):
        if not isinstance(piece, str):
            raise TypeError(f"{source}, line {number} must be a string. Received: {piece!r}")
        if not piece.strip(" \t\r"):
            raise ValueError(f"{source}, line {number} is empty. Every line must hold a word piece.")
        if any("\ud800" <= character < "\ue000" for character in piece):
            raise ValueError(f"{source}, line {number} has half a surrogate pair, which UTF-8 cannot hold: {piece!r}.")
        if len(piece.removeprefix(SUFFIX).encode()) > LONGEST_PIECE:
            raise ValueError(f"{source}, line {number} is too long. A piece may have {LONGEST_PIECE} bytes of UTF-8.")
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
