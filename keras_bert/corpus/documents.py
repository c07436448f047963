"""Documents from text files: one at a time, in bounded memory, with errors that name the file and the place.

A document is a list of non-empty stripped lines. Two formats, each also with gzip:

- `.txt`: UTF-8, a blank line between documents;
- `.jsonl`: one object per line, whose field `text` is one document.

The end of a file ends a document.
"""

import codecs
import glob
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence

SUFFIXES = (".txt", ".jsonl", ".txt.gz", ".jsonl.gz")
MAX_DOCUMENT_CHARACTERS = 1_000_000
# A JSON object has to be held whole to be parsed, unlike a line of text, so its length needs a border of its own.
MAX_JSON_CHARACTERS = 64_000_000

_READ_BYTES = 65_536
_BINARY_PROBE_BYTES = 8_192
_ENCODING_ERRORS = ("strict", "replace", "ignore")


class CorpusError(ValueError):
    """Input that cannot be used as a corpus. The message names the file, the place in it and the remedy."""


def list_files(patterns: str | Sequence[str]) -> list[str]:
    """Finds the text files that patterns name.

    Args:
        patterns: one or several of: a file, a folder (searched recursively, hidden names left out), a glob (`**` crosses
            folders; a folder that it matches is searched too).

    Returns:
        Sorted paths, each file once.

    Raises:
        CorpusError: a pattern matches nothing, or a named file has none of the known suffixes.
    """
    patterns = [patterns] if isinstance(patterns, (str, os.PathLike)) else list(patterns)
    if not patterns:
        raise CorpusError("expected at least one file, folder or glob. Received: patterns=[]; name where the text files are.")
    found: dict[str, str] = {}
    for pattern in patterns:
        for path in _matches(os.path.expanduser(os.fspath(pattern))):
            path = os.path.normpath(path)
            found.setdefault(os.path.abspath(path), path)
    return sorted(found.values())


def _matches(pattern: str) -> list[str]:
    if os.path.exists(pattern):
        matched = [pattern]  # before the glob, so that a file called `a[1].txt` can be named
    elif glob.has_magic(pattern):
        matched = glob.glob(pattern, recursive=True)
    else:
        raise CorpusError(f"expected a file, a folder or a glob. Received: {pattern!r}, which does not exist; check the path.")
    files: list[str] = []
    for path in matched:
        if os.path.isdir(path):
            files.extend(_files_below(path))
        elif _suffix(path):
            files.append(path)
        else:
            raise CorpusError(
                f"expected a file that ends in {', '.join(SUFFIXES)}. Received: {path!r}; rename it or narrow the pattern {pattern!r}."
            )
    if not files:
        raise CorpusError(
            f"expected at least one file that ends in {', '.join(SUFFIXES)}. Received: {pattern!r}, which matches none; "
            "check the path, or rename the files."
        )
    return files


def _files_below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if _suffix(name) and not name.startswith("."))


def _suffix(path: str) -> str | None:
    return next((suffix for suffix in SUFFIXES if path.lower().endswith(suffix)), None)


def read_documents(files: Sequence[str], encoding_errors: str = "strict") -> Iterator[list[str]]:
    """Reads documents from text files, in order.

    A document of more than `MAX_DOCUMENT_CHARACTERS` is cut at a line border into several, a longer line at a space, so
    memory does not grow with the input.

    Args:
        files: paths as `list_files` gives them.
        encoding_errors: what to do with bytes that are not UTF-8: "strict" raises, "replace" puts U+FFFD, "ignore" drops.

    Yields:
        Documents: lists of non-empty stripped lines.

    Raises:
        CorpusError: a file is missing, binary, not UTF-8, a broken gzip archive, or has a line that is not an object
            with a string `text`.

    Example: a file `"One line.\\nTwo.\\n\\nNext document."` gives `["One line.", "Two."]` and `["Next document."]`.
    """
    if encoding_errors not in _ENCODING_ERRORS:
        raise CorpusError(f"expected encoding_errors to be one of {', '.join(_ENCODING_ERRORS)}. Received: {encoding_errors=}; choose one.")
    return (document for path in files for document in _cut_documents(_lines(os.fspath(path), encoding_errors)))


def _lines(path: str, encoding_errors: str) -> Iterator[str]:
    """Lines of one file; a blank one is a document's border."""
    suffix = _suffix(path)
    if suffix is None:
        raise CorpusError(f"expected a file that ends in {', '.join(SUFFIXES)}. Received: {path!r}; rename it.")
    pieces = _decoded_pieces(path, encoding_errors, zipped=suffix.endswith(".gz"))
    if suffix.startswith(".jsonl"):
        return _json_lines(path, pieces, encoding_errors)
    return _cut_lines(pieces)


def _cut_documents(lines: Iterator[str]) -> Iterator[list[str]]:
    document: list[str] = []
    characters = 0
    for line in lines:
        line = line.strip()
        if document and (not line or characters + len(line) > MAX_DOCUMENT_CHARACTERS):
            yield document
            document, characters = [], 0
        if line:
            document.append(line)
            characters += len(line)
    if document:
        yield document


def _cut_lines(pieces: Iterator[str]) -> Iterator[str]:
    """Joins pieces into lines, and cuts a line that grows past the longest document, at a space where there is one."""
    line = ""
    for piece in pieces:
        line += piece
        while len(line) > MAX_DOCUMENT_CHARACTERS:
            space = line.rfind(" ", MAX_DOCUMENT_CHARACTERS // 2, MAX_DOCUMENT_CHARACTERS)
            end = space + 1 if space >= 0 else MAX_DOCUMENT_CHARACTERS
            yield line[:end]
            line = line[end:]
        if piece.endswith("\n"):
            yield line
            line = ""
    yield line


def _json_lines(path: str, pieces: Iterator[str], encoding_errors: str) -> Iterator[str]:
    for number, line in _whole_lines(path, pieces):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{place}: expected one JSON object per line. Received: {line[:80]!r} ({error}); correct it.") from error
        text = entry.get("text") if isinstance(entry, dict) else None
        if not isinstance(text, str):
            raise CorpusError(
                f'{place}: expected an object with a string "text". Received: {line[:80]!r}; name the field that holds the text "text".'
            )
        # JSON can escape half of a surrogate pair ("\ud83d"), which no UTF-8 text holds and no tokenizer takes.
        try:
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", encoding_errors)
        except UnicodeDecodeError as error:
            raise CorpusError(f"{place}: expected Unicode text. Received: half a surrogate pair; {_ENCODING_REMEDY}") from error
        yield from _cut_lines(part + "\n" for part in text.split("\n") if part.strip())
        yield ""


def _whole_lines(path: str, pieces: Iterator[str]) -> Iterator[tuple[int, str]]:
    parts, characters, number = [], 0, 1
    for piece in pieces:
        parts.append(piece)
        characters += len(piece)
        if characters > MAX_JSON_CHARACTERS:
            raise CorpusError(
                f"{path}, line {number}: expected at most {MAX_JSON_CHARACTERS:,} characters in a line. Received: a longer one; "
                "split the document, or write it as .txt."
            )
        if piece.endswith("\n"):
            yield number, "".join(parts)
            parts, characters, number = [], 0, number + 1
    yield number, "".join(parts)


_ENCODING_REMEDY = "convert the file to UTF-8, or pass --encoding-errors replace."


def _decoded_pieces(path: str, encoding_errors: str, zipped: bool) -> Iterator[str]:
    """Text of a file in pieces that never cross a line's end and never pass `_READ_BYTES`."""
    decoder = codecs.getincrementaldecoder("utf-8")(encoding_errors)
    offset = 0
    for data in _byte_pieces(path, zipped):
        pending = len(decoder.getstate()[0])  # bytes of a character that the last piece cut in two
        body = data.removeprefix(codecs.BOM_UTF8) if offset == 0 else data
        start = offset + len(data) - len(body) - pending
        try:
            text = decoder.decode(body, final=not data)
        except UnicodeDecodeError as error:
            received = error.object[error.start : error.start + 4]
            where = " of the unzipped text" if zipped else ""
            raise CorpusError(
                f"{path}, byte {start + error.start}{where}: expected UTF-8. Received: {received!r} ({error.reason}); {_ENCODING_REMEDY}"
            ) from error
        offset += len(data)
        yield text


def _byte_pieces(path: str, zipped: bool) -> Iterator[bytes]:
    """Pieces of lines, then an empty one at the end of the file."""
    try:
        with gzip.open(path, "rb") if zipped else open(path, "rb") as stream:
            if b"\0" in stream.read(_BINARY_PROBE_BYTES):
                raise CorpusError(
                    f"{path}: expected UTF-8 text. Received: a binary file (it has a NUL byte near its start); "
                    "leave it out, or convert it to UTF-8 if it is UTF-16 text."
                )
            stream.seek(0)
            data = None
            while data != b"":
                data = stream.readline(_READ_BYTES)
                yield data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{path}: expected a whole gzip archive. Received: a broken one ({error}); make it again.") from error
    except OSError as error:
        raise CorpusError(f"{path}: expected a readable file. Received: {error.strerror or error}; check the path.") from error


def document_hash(document: list[str]) -> int:
    """64-bit hash of a document's text, the same on every machine; case counts, the amount of whitespace does not."""
    text = " ".join(" ".join(document).split())
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


ABBREVIATIONS = ("mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "etc", "cf", "al", "fig", "approx")

# The lookbehind starts a match only at the first stop of a run: without it a line of dots costs the square of its length.
# Spaced stops and closing marks ("stop ! !", "''") are the style of corpora that were tokenized before they were published.
_STOP = re.compile(
    r"""(?<![.!?…])[.!?…]+(?:\s+[.!?…]+)*["'”’»)\]]*(?:\s+(?:''|[”’»)\]]))*(?=\s)"""
    r"""|[。！？]+[」』”’）】》〉)]*(?=.)"""
)
_LETTER = re.compile(r"[^\W\d_]")
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]")


def split_sentences(line: str) -> list[str]:
    """Cuts a line into sentences; joined by spaces they are the line again, up to whitespace.

    A border follows a run of `. ! ? …` with its closing quotes and brackets where whitespace comes next, and `。！？`
    anywhere. A stop after an initial ("J. Smith", "U.S.") or one of `ABBREVIATIONS` is none, nor is one before which the
    sentence has no letter ("1. Start").

    Example: `'Mr. J. Smith (aged 9.5) asked "Why?" He left... she stayed . so did i .'` gives
    `['Mr. J. Smith (aged 9.5) asked "Why?"', 'He left...', 'she stayed .', 'so did i .']`.
    """
    sentences, start, searched, has_letter = [], 0, 0, False
    for stop in _STOP.finditer(line):
        # Only what is new since the last stop: a line of "1. 2. 3. ..." would cost the square of its length.
        has_letter = has_letter or bool(_LETTER.search(line, searched, stop.start()))
        searched = stop.end()
        if has_letter and not _abbreviates(line, start, stop):
            sentences.append(line[start : stop.end()].strip())
            start, has_letter = stop.end(), False
    sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _abbreviates(line: str, start: int, stop: re.Match) -> bool:
    if stop.group() != ".":
        return False
    words = line[max(start, stop.start() - 20) : stop.start()].split()
    if not words or line[stop.start() - 1].isspace():
        return False
    word = words[-1].lstrip("\"'“‘«([")
    return bool(_INITIALS.fullmatch(word)) or word.lower() in ABBREVIATIONS
