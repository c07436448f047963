import os

import pytest

from keras_bert.corpus import english_docs as module
from keras_bert.corpus.documents import read_documents
from keras_bert.corpus.english_docs import english_documentation, installed_documentation
from keras_bert.corpus.prose import prose_paragraphs

PROSE = [
    f"The {animal} is one of the animals that a keeper has to feed in the {time} with a {food} of good quality."
    for animal, time, food in [("otter", "morning", "fish"), ("heron", "evening", "frog"), ("badger", "night", "worm")]
]
OTHER = "Nothing in this long sentence has been said before, so that it counts as new text wherever it may come to stand."


def module_text(paragraphs, code=""):
    return f'"""{paragraphs[0]}\n"""\n{code}\nclass A:\n    """{paragraphs[1]}"""\n    def f():\n        """{paragraphs[2]}"""\n'


@pytest.fixture
def tree(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    write("zoo.py", module_text(PROSE, "raise SystemExit('imported')"))
    return tmp_path, write


def test_prose_is_unwrapped_and_everything_else_dropped():
    assert prose_paragraphs("Find it in a list.\n\nArgs:\n  x: The thing that is\n    to be found.\n\n>>> f()\n1") == [
        "Find it in a list.",
        "The thing that is to be found.",
    ]
    docstring = """Return the sum of
        the ``numbers`` in :class:`~package.List`, as in [1]_.

        Parameters
        ----------
        x : array_like, optional
            The values that are to be added.
        - A *first* item that goes
          over two lines.
        - The second item, a `link <https://example.org>`_ to it.

        .. note:: This is shown to
            the reader.
        .. code-block:: python

            the_code = of("the example that is not prose at all")

        It is used like this::

            this is an example of a text that is not shown

        === ===== of a table
        a = b + c; d = [the, is, of]
        >>> print("the end of the example")
        the end of the example

        :param y: What is said of the parameter.
        :rtype: int
        """
    assert prose_paragraphs(docstring) == [
        "Return the sum of the numbers in List, as in.",
        "The values that are to be added.",
        "A first item that goes over two lines.",
        "The second item, a link to it.",
        "This is shown to the reader.",
        "What is said of the parameter.",
    ]


def test_one_document_per_module_in_source_order_without_importing(tree):
    folder, write = tree
    write("pack/deep/part.py", module_text([OTHER, OTHER.replace("long", "other"), OTHER.upper().lower()]))
    for name in ("pack/tests/part.py", "pack/test_part.py", "lib2to3/part.py", "pack/_vendor/part.py", "not-a-package/part.py"):
        write(name, module_text([f"In {name} there is a text of its own. " + OTHER] * 3))
    write("broken.py", '"""' + OTHER * 4)
    write("binary.py", f'"""{OTHER * 4}\0"""')
    write("short.py", f'"""{OTHER}"""')
    write("huge.py", f'"""{OTHER * 9_999}"""')
    documents = english_documentation(directories=[str(folder)]).documents
    assert PROSE in documents
    assert len(documents) == 2


def test_repeats_are_dropped_and_counted(tree):
    folder, write = tree
    write("zoo_copy.py", module_text(PROSE))
    write("zoo_near.py", module_text([line.replace("one of", "among") for line in PROSE]))
    write("zoo_new.py", module_text([OTHER, OTHER.replace("said before", "put so") + " It is new here.", PROSE[0]]))
    result = english_documentation(directories=[str(folder)])
    assert len(result.documents) == 2
    assert result.duplicate_documents == 1
    assert result.duplicate_paragraphs == 3 + 1
    assert result.words == sum(len(line.split()) for document in result.documents for line in document)


def test_a_size_limit_takes_some_of_each_package(tmp_path):
    for package in range(5):
        for part in range(20):
            path = tmp_path / f"pack{package}" / f"m{part}.py"
            path.parent.mkdir(exist_ok=True)
            words = [" ".join(f"{chr(97 + package)}{chr(97 + part)}{chr(97 + k)} of the" for k in range(i, i + 8)) for i in (0, 6, 12)]
            path.write_text(module_text(words), encoding="utf-8")
    result = english_documentation(max_bytes=2_000, directories=[str(tmp_path)])
    assert 2_000 <= result.size < 2_400
    assert len({document[0][0] for document in result.documents}) == 5


def test_the_corpus_of_this_installation_is_made_once_and_reads_back(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KERAS_BERT_CACHE", str(tmp_path / "cache"))
    path = installed_documentation(max_bytes=200_000)
    assert os.path.dirname(path) == str(tmp_path / "cache") and os.listdir(tmp_path / "cache") == [os.path.basename(path)]
    assert "repeated documents" in capsys.readouterr().err
    documents = list(read_documents([path]))
    assert documents == english_documentation(max_bytes=200_000).documents
    assert sum(map(len, documents)) > 500

    def fail(*_):
        raise AssertionError("made twice")

    monkeypatch.setattr(module, "english_documentation", fail)
    assert installed_documentation(max_bytes=200_000) == path
    with pytest.raises(AssertionError):
        installed_documentation(max_bytes=200_001)
