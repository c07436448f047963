"""From docstrings, in any of their markups, to English prose: one line per paragraph or list item."""

import inspect
import re
from collections.abc import Iterator

from keras_bert.corpus.documents import split_sentences

_ADMONITIONS = {"attention", "caution", "danger", "hint", "important", "note", "seealso", "tip", "warning"}
_DIRECTIVE = re.compile(r"\.\. (?:([\w-]+)::\s*(.*))?")
_FIELD = re.compile(r":[\w-]+(?: [^:`]*)?:(?:\s+(.*)|$)")
_NUMPY_ENTRY = re.compile(r"[`*\w][\w*`., ]* : \S.*")
_GOOGLE_ENTRY = re.compile(r"[`'\"*]*[\w.-]+[`'\"]*(?: ?\([^)]*\))?(?::| --?) +(\S.*)")
_BULLET = re.compile(r"(?:[-*+•o]|\(?\d{1,2}[.)]|\(?[a-z]\)|#\.)\s+(\S.*)")
_RULE = re.compile(r"[\W_]+")


def prose_paragraphs(docstring: str) -> list[str]:
    """Takes the English sentences out of a docstring, one line per paragraph or list item.

    Doctests, code, headings, underlines, tables, directives and the names in lists of parameters are dropped; what
    parameters do is kept where it is said in words.

    Example: `"Find it in a list.\\n\\nArgs:\\n  x: The thing that is\\n    to be found.\\n\\n>>> f()\\n1"` gives
    `["Find it in a list.", "The thing that is to be found."]`.
    """
    plain = (_plain(" ".join(block)) for block in _blocks(inspect.cleandoc(docstring).expandtabs().split("\n")))
    return [text for text in plain if _is_prose(text)]


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Lines that belong together: split at blank lines, list items, entries and changes of indentation."""
    block: list[str] = []
    block_indent, hanging = 0, False
    code_indent, in_doctest, in_fence = None, False, False

    def start(first: str, indent: int, hangs: bool) -> list[str]:
        nonlocal block, block_indent, hanging
        finished, block, block_indent, hanging = block, [first] if first else [], indent, hangs
        return finished

    def is_fresh(indent: int) -> bool:  # a line inside a wrapped sentence may look like "name: text" too
        same_level = indent == block_indent and block and (hanging or block[-1][-1] in ".!?:")
        return not block or indent < block_indent or same_level or (indent > block_indent and not hanging)

    for number, line in enumerate(lines):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if text.startswith(("```", "~~~ ")):
            in_fence = not in_fence
            yield start("", indent, False)
            continue
        if not text:
            if block and block[-1].endswith("::"):
                code_indent = block_indent
            in_doctest = False
            yield start("", 0, False)
            continue
        if code_indent is not None and indent <= code_indent:
            code_indent = None
        in_doctest = in_doctest or text.startswith((">>>", "In ["))
        if in_fence or in_doctest or code_indent is not None:
            yield start("", indent, False)
            continue
        if _RULE.fullmatch(text):
            if len(block) == 1:
                block = []  # an underlined heading
            yield start("", indent, False)
        elif directive := _DIRECTIVE.match(text):
            shown = directive[1] in _ADMONITIONS
            code_indent = None if shown else indent
            yield start((directive[2] or "") if shown else "", indent, True)
        elif field := _FIELD.match(text):
            yield start(field[1] or "", indent, True)
        elif _NUMPY_ENTRY.fullmatch(text) and _indent_of(lines, number + 1) > indent:
            yield start("", indent, False)
        elif (indent or text[0].islower()) and is_fresh(indent) and (entry := _GOOGLE_ENTRY.fullmatch(text)):
            yield start(entry[1], indent, True)
        elif bullet := _BULLET.fullmatch(text):
            yield start(bullet[1], indent, True)
        elif not block or (indent > block_indent and not hanging) or indent < block_indent:
            yield start(text, indent, False)
        else:
            if indent > block_indent:
                block_indent, hanging = indent, False
            block.append(text)
    yield block


def _indent_of(lines: list[str], number: int) -> int:
    line = lines[number] if number < len(lines) else ""
    return len(line) - len(line.lstrip()) if line.strip() else 0


_MARKUP = (
    (re.compile(r"\\ |[\x00-\x1f\x7f\ud800-\udfff]"), ""),
    (re.compile(r"`(\w[^`'\"]*)'"), r"'\1'"),
    (re.compile(r":[a-zA-Z]+(?::[a-zA-Z]+)*:`~[^`]*?([^`.]+)`"), r"\1"),
    (re.compile(r":[a-zA-Z]+(?::[a-zA-Z]+)*:`([^`<]+?)(?:\s*<[^>`]*>)?`"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^>`]*>`_{1,2}"), r"\1"),
    (re.compile(r"\[([^\]]+)\]\(https?://[^)]*\)"), r"\1"),
    (re.compile(r"\s*\[\w+\]_"), ""),
    (re.compile(r"`{1,2}([^`]*)`{1,2}_?"), r"\1"),
    (re.compile(r"(?<![\w*])\*{1,2}([^\s*](?:[^*]*[^\s*])?)\*{1,2}(?![\w*])"), r"\1"),
    (re.compile(r"(?<=[a-z])_(?=[\s.,;)]|$)"), ""),
    (re.compile(r"::$"), ":"),
    (re.compile(r"\s+"), " "),
)


def _plain(text: str) -> str:
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    if "://" in text:
        text = " ".join(sentence for sentence in split_sentences(text) if "://" not in sentence)
    return text.strip()


_WORD = re.compile(r"""["'(\[“‘]*[A-Za-z]+(?:['’/-][A-Za-z]+)*["')\]”’]*[.,;:!?]*["')\]”’]*""")
_COMMON_WORDS = set(
    """
    a about after all also an and any are as at be because been before but by can do does each for from has have if in into is it
    its may more must no not of on only or other should so than that the their them then there these they this those to used was
    were when where which while will with without would you your
    """.split()  # noqa: SIM905
)
_MIN_PARAGRAPH_WORDS = 4
_MIN_ENGLISH_SHARE = 0.15
_MIN_WORD_SHARE = 0.75
_MIN_UNSTOPPED_WORDS = 8


def _is_prose(text: str) -> bool:
    words = text.split()
    if len(words) < _MIN_PARAGRAPH_WORDS or (len(words) < _MIN_UNSTOPPED_WORDS and text[-1] not in ".!?"):
        return False
    common = sum(word.lower() in _COMMON_WORDS for word in words)
    plain = sum(bool(_WORD.fullmatch(word)) for word in words)
    return common >= _MIN_ENGLISH_SHARE * len(words) and plain >= _MIN_WORD_SHARE * len(words)
