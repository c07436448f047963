import gzip
import json
import os
import time

import pytest

from keras_bert.corpus import documents as module
from keras_bert.corpus.documents import CorpusError, document_hash, list_files, read_documents, split_sentences


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read(path, **options):
    return list(read_documents([str(path)], **options))


def test_list_files_takes_files_folders_and_globs_sorted_without_repeats(tmp_path, monkeypatch):
    for name in ("b.txt", "a.jsonl", "deep/er/c.txt.gz", "deep/d.JSONL.GZ", "deep/notes.md", ".hidden/e.txt", "odd[1].txt"):
        write(tmp_path / name, "")
    monkeypatch.chdir(tmp_path)
    everything = ["a.jsonl", "b.txt", "deep/d.JSONL.GZ", "deep/er/c.txt.gz", "odd[1].txt"]
    assert list_files(".") == everything
    assert list_files(["deep", "./b.txt", "**/*.txt*", "a.jsonl", os.path.abspath("b.txt"), "odd[1].txt"]) == everything
    assert list_files("d*") == ["deep/d.JSONL.GZ", "deep/er/c.txt.gz"]


@pytest.mark.parametrize("pattern", ["missing.txt", "*.json", "empty", "notes.md", "*.md", []])
def test_list_files_refuses_what_matches_nothing_or_has_another_suffix(tmp_path, monkeypatch, pattern):
    write(tmp_path / "notes.md", "")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match="Received: ") as error:
        list_files(pattern)
    assert not pattern or pattern in str(error.value)


def test_text_and_json_lines_zipped_or_not_give_the_same_documents(tmp_path):
    expected = [["One line.", "Zwei Zeilen – größer."], ["次の文書。"]]
    text = "\ufeff\n\n One line.\r\nZwei Zeilen – größer.\n \t\n\n次の文書。"
    lines = "\n".join(json.dumps({"id": 7, "text": "\n\n".join(lines)}) for lines in expected) + '\n\n{"text": " "}\n'
    for name, content in (("a.txt", text), ("a.jsonl", lines)):
        assert read(write(tmp_path / name, content)) == expected
        assert read(write(tmp_path / f"{name}.gz", gzip.compress(content.encode()))) == expected
        assert read(write(tmp_path / f"empty.{name}", "")) == []
    both = [write(tmp_path / "1.txt", "no newline at the end"), write(tmp_path / "2.txt", "another document")]
    assert list(read_documents(both)) == [["no newline at the end"], ["another document"]]


def test_long_documents_and_long_lines_are_cut_and_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_DOCUMENT_CHARACTERS", 50)
    monkeypatch.setattr(module, "_READ_BYTES", 7)  # cuts lines and characters at every possible place
    words = [f"größe{number}" for number in range(40)]
    text = " ".join(words[:20]) + "\n" + "\n".join(words[20:]) + "\n\n" + "语" * 120
    for name, content in (("a.txt", text), ("a.jsonl", "\n".join(json.dumps({"text": part}) for part in text.split("\n\n")))):
        documents = read(write(tmp_path / name, content))
        assert all(sum(map(len, document)) <= 50 for document in documents)
        lines = [line for document in documents for line in document]
        assert " ".join(lines).split()[:40] == words
        assert "".join(lines[-3:]) == "语" * 120


@pytest.mark.parametrize("size", [7, 65_536])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_wrong_utf8_names_file_byte_and_remedy(tmp_path, monkeypatch, size, start):
    monkeypatch.setattr(module, "_READ_BYTES", size)
    good = start + "fünf\nsechs und mehr ".encode()
    for bad in (b"\xe9t\xe9\n", b"\xe2\x82"):
        path = write(tmp_path / "a.txt", good + bad)
        with pytest.raises(CorpusError, match=rf"a\.txt, byte {len(good)}: .*--encoding-errors replace"):
            read(path)
        assert "\ufffd" in read(path, encoding_errors="replace")[0][1]
    with pytest.raises(CorpusError, match="encoding_errors='latin'"):
        read(path, encoding_errors="latin")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"text\0text", "binary"),
        ("a.txt", "text".encode("utf-16"), "UTF-16"),
        ("a.md", b"text", "ends in .txt"),
        ("a.txt.gz", b"not zipped", "gzip"),
        ("a.txt.gz", gzip.compress(b"text " * 1000)[:-9], "gzip"),
        ("a.txt.gz", gzip.compress(os.urandom(20_000).hex().encode())[:9_000] + b"corrupt" * 4_000, "gzip"),
        ("a.jsonl", b'{"text": "x"}\n{"text": "x"\n', "line 2"),
        ("a.jsonl", b'{"text": "x"}\n{"txt": "x"}\n', 'line 2: .*"text"'),
        ("a.jsonl", b'["text"]', "line 1"),
        ("a.jsonl", b'{"text": 5}', "line 1"),
        ("a.jsonl", b"[" * 100_000, "line 1"),
        ("a.jsonl", b'{"text": "\\ud83d"}', "line 1: .*--encoding-errors replace"),
    ],
)
def test_bad_files_give_one_sentence_that_names_the_file(tmp_path, name, content, message):
    with pytest.raises(CorpusError, match=message) as error:
        read(write(tmp_path / name, content))
    assert name in str(error.value) and "Received: " in str(error.value) and len(str(error.value)) < 500


def test_a_missing_file_and_an_endless_json_line_are_corpus_errors(tmp_path, monkeypatch):
    with pytest.raises(CorpusError, match=r"gone\.txt: .*No such file"):
        read(tmp_path / "gone.txt")
    monkeypatch.setattr(module, "MAX_JSON_CHARACTERS", 100)
    with pytest.raises(CorpusError, match="line 2: .*split the document"):
        read(write(tmp_path / "a.jsonl", '{"text": "x"}\n' + json.dumps({"text": "x" * 100})))


def test_hash_ignores_the_amount_of_whitespace_but_not_case_or_words():
    assert document_hash(["One  line.", "Two."]) == document_hash(["One line.\tTwo."]) == 18156635460566609351
    assert len({document_hash([text]) for text in ("one line", "One line", "oneline", "one line .")}) == 4
    assert 0 <= document_hash(["\ud83d"]) < 2**64


@pytest.mark.parametrize(
    "sentences",
    [
        ['Mr. J. Smith (aged 9.5) asked "Why?"', "He left...", "she stayed .", "so did i ."],  # the docstring's example
        ["he said . . .", "she left ! !", "`` go away . ''", "they went"],
        ["Dogs, e.g. St. Bernards vs. cats etc. are in the U.S. Army.", "(Really?!)", "Yes."],
        ["1. First.", "2. Second …", "and 3.14 more!", "3. Third"],
        ["No border at all"],
    ],
)
def test_sentences_are_found_and_rejoin_to_the_line(sentences):
    assert split_sentences("  ".join(sentences)) == sentences


def test_sentences_without_spaces_between_them():
    assert split_sentences("他说：“好。”她走了！真的？！是的") == ["他说：“好。”", "她走了！", "真的？！", "是的"]
    assert split_sentences(" \t ") == []


@pytest.mark.parametrize("unit", [".", ". ", "1. ", ".)", "! ? ", ".   ", "。", "a. ", "'' "])
def test_sentence_splitting_takes_linear_time(unit):
    started = time.perf_counter()
    split_sentences(unit * 100_000 + "x")
    assert time.perf_counter() - started < 3
