"""What the original `tokenization.py` does to text before it cuts words into pieces, character by character.

A normalised text has one kind of space, spaces around non-ASCII punctuation, no control characters and, for uncased
models, no upper case and no accents. The rules follow Python's Unicode database, as the original code does, so they are
exact by construction on every version of Python, but for punctuation that is newer than the version. What they give is
data for TensorFlow Text's `FastBertNormalizer`.

Two rules look at more than one character and are regular expressions for the rare texts that need them: the final
form of the Greek sigma, and the order of combining marks.
"""

import functools
import itertools
import sys
import unicodedata
from collections.abc import Iterable, Iterator

from keras_bert.preprocessing.character_map import character_map

ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"  # the inside of a class in a regular expression
CJK = (
    r"\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}"
    r"\x{2B820}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}"
)

# Punctuation of Unicode 15 and 16. The kernel that cuts texts knows it from its own library, ICU; Python may not yet.
NEWER_PUNCTUATION = [
    chr(code)
    for code in (
        *(0x1B4E, 0x1B4F, 0x1B7F, 0x10D6E, 0x113D4, 0x113D5, 0x113D7, 0x113D8),
        *range(0x11B00, 0x11B0A),
        *(0x11BE1, *range(0x11F43, 0x11F50), 0x16D6D, 0x16D6E, 0x16D6F, 0x1E5FF),
    )
]
MARKER = "\x12"  # a word that no normalised text has otherwise


@functools.cache
def normalizing_map(lowercase: bool) -> bytes:
    """The normalisation of single characters, as a model of `FastBertNormalizer`."""
    return character_map(_pairs(lowercase).items())


@functools.cache
def marking_map(lowercase: bool) -> bytes:
    """`normalizing_map`, with `MARKER` for characters whose lower case or place depends on their neighbours."""
    dependent = ["Σ", *_kept_marks()] if lowercase else []
    return character_map((_pairs(lowercase) | dict.fromkeys(dependent, f" {MARKER} ")).items())


@functools.cache
def cleaning_map() -> bytes:
    """Only the removal of control characters and of U+FFFD, as a model of `FastBertNormalizer`."""
    return character_map((c, "") for c in _assigned() if _is_dropped(c))


@functools.cache
def mark_pattern() -> str:
    """A pattern for a whole text with combining marks that canonical order may move."""
    return rf"\C*[{_ranges(_kept_marks())}]\C*"


@functools.cache
def final_sigma() -> tuple[str, str]:
    """Pattern and replacement that turn each Σ at the end of a word into ς; both are two bytes long.

    As in `str.lower`: a cased letter stands before it and none after it, where some characters, such as accents and
    apostrophes, do not count.
    """
    cased = [c for c in _assigned() if (c + "Σ").lower().endswith("ς")]
    ignored = [c for c in set(_assigned()).difference(cased) if ("A" + c + "Σ").lower().endswith("ς")]
    cased_class, ignored_class = _ranges(cased), _ranges(ignored)
    return rf"([{cased_class}][{ignored_class}]*)Σ([{ignored_class}]*(?:[^{cased_class}{ignored_class}]|$))", r"\1ς\2"


@functools.cache
def _pairs(lowercase: bool) -> dict[str, str]:
    """What becomes of each character."""
    return {c: f" {c} " for c in NEWER_PUNCTUATION} | {c: _normalized(c, lowercase) for c in _assigned()}


def _kept_marks() -> list[str]:
    """The marks that canonical order may move and that stay when accents are stripped."""
    return [c for c in _assigned() if unicodedata.combining(c) and unicodedata.category(c) != "Mn"]


def _normalized(character: str, lowercase: bool) -> str:
    if character in "\t\n\r" or unicodedata.category(character).startswith("Z"):
        return " "
    if _is_dropped(character):
        return ""
    text = character
    if lowercase:
        decomposed = unicodedata.normalize("NFD", character.lower())
        text = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    if text.isascii():
        return text
    return "".join(f" {c} " if unicodedata.category(c).startswith("P") else c for c in text)


def _is_dropped(character: str) -> bool:
    return character == "\ufffd" or (unicodedata.category(character) in ("Cc", "Cf") and character not in "\t\n\r")


@functools.cache
def _assigned() -> list[str]:
    """All characters with properties of their own: neither unassigned, nor private, nor surrogates."""
    return [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")]


def _ranges(characters: Iterable[str]) -> str:
    """The inside of a class in a regular expression."""

    def runs() -> Iterator[str]:
        codes = sorted(map(ord, characters))
        for _, run in itertools.groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
            first, *_, last = [code for _, code in run] * 2
            yield rf"\x{{{first:X}}}-\x{{{last:X}}}"

    return "".join(runs())
