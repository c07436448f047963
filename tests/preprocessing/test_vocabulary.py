import pytest

from keras_bert.preprocessing.vocabulary import (
    SPECIAL_TOKENS,
    check_vocabulary,
    read_vocabulary,
    vocabulary_hash,
    write_vocabulary,
)

PIECES = [*SPECIAL_TOKENS, "a", "##b", "é", "字", "\u2581"]


def test_files_round_trip(tmp_path):
    write_vocabulary(PIECES, tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == ("\n".join(PIECES) + "\n").encode()
    assert read_vocabulary(tmp_path / "vocab.txt") == PIECES


@pytest.mark.parametrize("text", ["[UNK]\na\n", "[UNK]\na", "[UNK]\r\na\r\n"])
def test_line_ends_of_any_system_are_read(tmp_path, text):
    (tmp_path / "vocab.txt").write_bytes(text.encode())
    assert read_vocabulary(tmp_path / "vocab.txt") == ["[UNK]", "a"]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", r"vocab.txt has no \[UNK\] among its 0 pieces"),
        (b"a\nb\n", r"vocab.txt has no \[UNK\] among its 2 pieces"),
        (b"[UNK]\n\na\n", "vocab.txt, line 2 is empty"),
        (b"[UNK]\n  \na\n", "vocab.txt, line 2 is empty"),
        (b"[UNK]\na\n\n", "vocab.txt, line 3 is empty"),
        (b"[UNK]\na\nb\na\n", "vocab.txt, line 4 repeats line 2: 'a'"),
        (b"[UNK]\n\xff\n", "vocab.txt is not valid UTF-8: byte 6"),
        (b"[UNK]\n" + 257 * b"a", "vocab.txt, line 2 is too long. A piece may have 256 bytes"),
        (b"\xef\xbb\xbf[UNK]\na\n", "vocab.txt, line 1 starts with a byte-order mark"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, data, message):
    (tmp_path / "vocab.txt").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_vocabulary(tmp_path / "vocab.txt")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="vocab.txt"):
        read_vocabulary(tmp_path / "vocab.txt")


def test_a_bad_list_is_an_error():
    check_vocabulary(PIECES)
    with pytest.raises(ValueError, match="vocabulary, line 3 repeats line 1"):
        check_vocabulary(["[UNK]", "a", "[UNK]"])


def test_the_hash_tells_vocabularies_apart():
    assert vocabulary_hash(PIECES) == vocabulary_hash(list(PIECES))
    assert len({vocabulary_hash(p) for p in (PIECES, PIECES[::-1], PIECES[:-1])}) == 3
