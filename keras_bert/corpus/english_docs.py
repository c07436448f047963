"""English prose that every Python installation holds: its documentation, as a corpus for trying out pretraining.

The docstrings of the standard library and of the installed packages, and the language reference of `pydoc`, are read from
source with `ast`; nothing is imported. Code, tables and markup are dropped, paragraphs are unwrapped to one line each.

Packages are visited in turn, one module each, so that a size limit does not let the alphabet decide which are in; the order
inside a package is that of a hash of the module's path. Parsing is what costs time, so modules that are mostly documentation
come first, the others only if the size is not reached without them. The same installation gives the same corpus.
"""

import ast
import gc
import hashlib
import importlib.metadata
import itertools
import os
import platform
import re
import sys
import sysconfig
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_bert.corpus.documents import document_hash
from keras_bert.corpus.prose import prose_paragraphs

# Part of the cache's key: raise it when the rules below change what the corpus holds.
_FORMAT = 1

MAX_MODULE_BYTES = 1_000_000
MIN_DOCUMENT_WORDS = 40
SHINGLE_WORDS = 8
MAX_SEEN_SHINGLES = 0.5

_SKIPPED_FOLDERS = {
    "__pycache__", "_vendor", "_vendored", "vendor", "vendored", "extern", "externals", "dist-packages", "idle_test", "lib2to3",
    "site-packages", "test", "testing", "tests",
}  # fmt: skip
_SKIPPED_MODULES = re.compile(r"(conftest|test_\w+|\w+_test|\w+_pb2(_grpc)?)\.py")
_DENSE_SHARE = 0.25
_QUOTED = re.compile(rb"^[ \t]*[rRuU]?(\"{3}|'{3})(.*?)\1", re.DOTALL | re.MULTILINE)
_TOPICS = os.path.join("pydoc_data", "topics.py")


class Documentation(NamedTuple):
    """A corpus made from documentation.

    Attributes:
        documents: one list of paragraphs per module or topic.
        size: bytes of UTF-8 text.
        words: words between whitespace.
        duplicate_paragraphs: paragraphs dropped because an earlier module has the same.
        duplicate_documents: documents dropped because earlier ones hold most of their text.
    """

    documents: list[list[str]]
    size: int
    words: int
    duplicate_paragraphs: int
    duplicate_documents: int


def english_documentation(max_bytes: int = 10_000_000, directories: Sequence[str] | None = None) -> Documentation:
    """Collects the documentation of the installed Python as English prose.

    Args:
        max_bytes: size of UTF-8 text at which to stop; the last document may pass it.
        directories: folders that hold packages and modules. Default: the standard library and the installed packages.

    Returns:
        The documents (the paragraphs of a module in the order of its source) and what was dropped.
    """
    documents, size, words, duplicate_paragraphs, duplicate_documents = [], 0, 0, 0, 0
    seen_paragraphs: set[int | str] = set()
    seen_shingles: set[int] = set()
    for paragraphs in _raw_documents(_source_directories() if directories is None else directories):
        document, hashes = [], set()
        for paragraph in paragraphs:
            # Short ones recur for good reason ("Return a copy of the list."); they count as a repeat only within a module.
            key = paragraph if paragraph.count(" ") < SHINGLE_WORDS else document_hash([paragraph])
            if key in seen_paragraphs or key in hashes:
                duplicate_paragraphs += 1
                continue
            hashes.add(key)
            document.append(paragraph)
        document_words = [word for paragraph in document for word in paragraph.split()]
        if len(document_words) < MIN_DOCUMENT_WORDS:
            continue
        shingles = _shingles(document_words)
        if sum(map(seen_shingles.__contains__, shingles)) > MAX_SEEN_SHINGLES * len(shingles):
            duplicate_documents += 1
            continue
        seen_shingles.update(shingles)
        seen_paragraphs.update(key for key in hashes if isinstance(key, int))
        documents.append(document)
        words += len(document_words)
        size += sum(len(line.encode()) + 1 for line in document) + 1
        if size >= max_bytes:
            break
    return Documentation(documents, size, words, duplicate_paragraphs, duplicate_documents)


def installed_documentation(cache_directory: str | None = None, max_bytes: int = 10_000_000) -> str:
    """Writes `english_documentation` to a file that `read_documents` takes, once per installation.

    Args:
        cache_directory: where the file is kept. Default: `$KERAS_BERT_CACHE`, or `keras_bert` in `$XDG_CACHE_HOME` or
            `~/.cache`.
        max_bytes: as in `english_documentation`.

    Returns:
        The path of a `.txt` file. Its name holds a hash of the Python version and of what is installed.
    """
    folder = os.path.expanduser(cache_directory or _default_cache())
    path = os.path.join(folder, f"english_documentation-{_installation_hash(max_bytes)}.txt")
    if os.path.exists(path):
        return path
    documentation = english_documentation(max_bytes)
    os.makedirs(folder, exist_ok=True)
    # Written beside and renamed: a run that is killed, or one that does the same meanwhile, never leaves half a file.
    beside = f"{path}.{os.getpid()}.partial"
    try:
        with open(beside, "w", encoding="utf-8", newline="\n") as stream:
            stream.writelines("\n".join(document) + "\n\n" for document in documentation.documents)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
    print(
        f"{path}: {len(documentation.documents):,} documents, {documentation.words:,} words, {documentation.size / 1e6:.1f} MB; "
        f"dropped {documentation.duplicate_documents:,} repeated documents, {documentation.duplicate_paragraphs:,} repeated paragraphs",
        file=sys.stderr,
    )
    return path


def _default_cache() -> str:
    if os.environ.get("KERAS_BERT_CACHE"):
        return os.environ["KERAS_BERT_CACHE"]
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "keras_bert")


def _installation_hash(max_bytes: int) -> str:
    # The folders are named, so that a package in the working directory does not count.
    installed = importlib.metadata.distributions(path=_source_directories()[1:])
    names = sorted(f"{distribution.metadata['Name']}=={distribution.version}" for distribution in installed)
    key = "\n".join([str(_FORMAT), str(max_bytes), platform.python_version(), *names])
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()


def _source_directories() -> list[str]:
    """The standard library, then the folders of installed packages."""
    return list(dict.fromkeys(os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")))


def _shingles(words: list[str]) -> set[int]:
    """Hashes of all runs of `SHINGLE_WORDS` words."""
    codes = np.array([zlib.crc32(word.lower().encode()) for word in words], dtype=np.uint64)
    count = max(1, len(codes) - SHINGLE_WORDS + 1)
    sums = np.zeros(count, dtype=np.uint64)
    for position in range(min(SHINGLE_WORDS, len(codes))):
        sums = sums * np.uint64(0x9E3779B97F4A7C15) + codes[position : position + count]
    return set(sums.tolist())


def _raw_documents(directories: Sequence[str]) -> Iterator[list[str]]:
    """Paragraphs per module: one module of each package that still has some, then the next of each."""
    packages: dict[str, list[str]] = {}
    for directory in directories:
        for name in os.listdir(directory):
            packages.setdefault(name.removesuffix(".py"), []).append(os.path.join(directory, name))
    for dense in (True, False):
        visits = [_package_documents(sorted(packages[name]), dense) for name in sorted(packages, key=_order)]
        while visits:
            unfinished = []
            for visit in visits:
                document = next(visit, None)
                if document is not None:
                    unfinished.append(visit)
                    yield document
            visits = unfinished


def _order(name: str) -> tuple[int, str]:
    return zlib.crc32(name.encode("utf-8", "surrogateescape")), name


def _package_documents(roots: list[str], dense: bool) -> Iterator[list[str]]:
    modules = [module for root in roots for module in _module_files(root)]
    for relative, path in sorted(modules, key=lambda module: _order(module[0])):
        for docstrings in _documented_parts(path, dense, is_topics=relative == _TOPICS):
            paragraphs = [paragraph for docstring in docstrings for paragraph in prose_paragraphs(docstring)]
            if sum(paragraph.count(" ") + 1 for paragraph in paragraphs) >= MIN_DOCUMENT_WORDS:
                yield paragraphs


def _module_files(root: str) -> Iterator[tuple[str, str]]:
    """Paths of the modules in a package's folder (or of the one file), below the package's parent and in full."""
    parent = os.path.dirname(root)
    walk: Iterable[tuple[str, list[str], list[str]]] = ()
    if os.path.isfile(root):
        walk = [(parent, [], [os.path.basename(root)])]
    elif os.path.basename(root).isidentifier() and os.path.basename(root) not in _SKIPPED_FOLDERS:
        walk = os.walk(root)
    for folder, folders, names in walk:
        folders[:] = [name for name in folders if name.isidentifier() and name not in _SKIPPED_FOLDERS]
        for name in names:
            if name.endswith(".py") and not _SKIPPED_MODULES.fullmatch(name):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, parent), path


def _documented_parts(path: str, dense: bool, is_topics: bool) -> Iterator[list[str]]:
    """Docstrings of a module in the order of the source; for the table of topics, one part per topic.

    Nothing for a module that is not as dense in documentation as asked for.
    """
    try:
        if os.path.getsize(path) > MAX_MODULE_BYTES:
            return
        with open(path, "rb") as stream:
            source = stream.read()
        quoted = len(source) if is_topics else sum(len(match[2]) for match in _QUOTED.finditer(source))
        if quoted == 0 or (quoted >= _DENSE_SHARE * len(source)) != dense:
            return
        tree = _parse(source)
        if is_topics:
            yield from ([text] for text in ast.literal_eval(tree.body[-1].value).values())  # type: ignore[attr-defined]
        else:
            yield list(_docstrings(tree))
    except (OSError, SyntaxError, ValueError, AttributeError, RecursionError, MemoryError):
        return  # a module that this Python cannot read has no documentation for it


def _parse(source: bytes) -> ast.Module:
    # A tree is many objects and no cycles: the collector would double the time of the whole corpus and find nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as for "\d" in a docstring that is not raw
            return ast.parse(source)
    finally:
        if collecting:
            gc.enable()


def _docstrings(tree: ast.Module) -> Iterator[str]:
    stack = [tree]  # a stack, as a long chain of elif is as deep as it is long
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield docstring
        parts = [getattr(node, field, ()) for field in ("body", "handlers", "orelse", "finalbody")]
        stack.extend(reversed([child for child in itertools.chain(*parts) if hasattr(child, "body")]))
