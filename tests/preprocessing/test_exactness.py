"""The tokenizer against a plain rewrite of the original rules, on every character and on random texts."""

import sys
import unicodedata

import pytest
import tensorflow as tf
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keras_bert.preprocessing import WordPieceTokenizer
from keras_bert.preprocessing.normalization import NEWER_PUNCTUATION
from keras_bert.preprocessing.vocabulary import SPECIAL_TOKENS

CHARACTERS = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")]


def is_cjk(character):
    blocks = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF))
    return any(first <= ord(character) <= last for first, last in (*blocks, (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def is_punctuation(character):
    return character in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(character).startswith("P")


def words_of(text, lowercase):
    """The words of a text, by the rules of the original code, one after the other."""
    cleaned = ""
    for character in text:
        category = unicodedata.category(character)
        if character in " \t\n\r" or category == "Zs":
            cleaned += " "
        elif category not in ("Cc", "Cf") and character != "\ufffd":
            cleaned += f" {character} " if is_cjk(character) else character
    for word in cleaned.split():
        if lowercase:
            word = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")
        part = ""
        for character in word:
            if is_punctuation(character):
                if part:
                    yield part
                yield character
                part = ""
            else:
                part += character
        if part:
            yield part


def pieces_of(word, ids):
    """The ids of the longest pieces from the left, or `[UNK]`."""
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in ids:
                break
        else:
            return [ids["[UNK]"]]
        pieces.append(ids[piece])
        start = end
    return pieces if len(word) <= 200 else [ids["[UNK]"]]


def expected(text, ids, lowercase):
    return [id for word in words_of(text, lowercase) for id in pieces_of(word, ids)]


def character_vocabulary(characters):
    """A vocabulary in which every character tells itself apart, at the start and inside of a word."""
    forms = {c for text in characters for form in (text, text.lower()) for c in form + unicodedata.normalize("NFD", form)}
    known = sorted(c for c in forms if unicodedata.category(c) not in ("Cc", "Zs", "Zl", "Zp"))
    return [*SPECIAL_TOKENS, *known, *("##" + c for c in known)]


def assert_exact(tokenizer, ids, texts):
    for start in range(0, len(texts), 50_000):
        part = texts[start : start + 50_000]
        received = tokenizer(part).to_list()
        different = [(t, r, e) for t, r in zip(part, received, strict=True) if r != (e := expected(t, ids, tokenizer.lowercase))]
        assert not different, f"{len(different)} differ: {[(t, *map(hex, map(ord, t)), r, e) for t, r, e in different[:5]]}"


@pytest.fixture(scope="module", params=[True, False], ids=["uncased", "cased"])
def tokenizer(request):
    vocabulary = character_vocabulary([*CHARACTERS, "Α", "Σ"])
    return WordPieceTokenizer([*vocabulary, "ab", "##ba", "αβ", "##σσ", "##ας", "éa", "##a字"], lowercase=request.param)


@pytest.fixture(scope="module")
def ids(tokenizer):
    return {piece: i for i, piece in enumerate(tokenizer.vocabulary)}


def test_every_character_alone_doubled_and_between_letters(tokenizer, ids):
    assert_exact(tokenizer, ids, [text for c in CHARACTERS for text in (c, c + c, f"a{c}b")])


def test_every_character_beside_a_sigma(tokenizer, ids):
    if tokenizer.lowercase:
        assert_exact(tokenizer, ids, [text for c in CHARACTERS for text in (f"{c}Σ", f"Α{c}Σ", f"ΑΣ{c}Α")])


def test_only_newer_punctuation_differs_among_unassigned_characters():
    tokenizer = WordPieceTokenizer(["[UNK]", "a", "##b"])
    unassigned = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in ("Cn", "Co") and not is_cjk(c)]
    words = tokenizer([f"a{c}b" for c in unassigned]).row_lengths()
    differing = {c for c, count in zip(unassigned, words.numpy(), strict=True) if count != 1}
    # The original code, on this version of Python, takes these for letters. Here they stand alone, in every company.
    assert differing == set(NEWER_PUNCTUATION).intersection(unassigned)
    texts = [f"a{c}b" for c in NEWER_PUNCTUATION]
    assert tokenizer([*texts, "Σ"]).to_list()[:-1] == tokenizer(texts).to_list() == [[1, 0, 0]] * len(texts)


SPECIMENS = "aAbBéÉß½…ﬁ字かア한ก็ँΑΣςσʼ'’-#[]()😀\u00a0\u2028\u3000\t\n\r\x00\x1f\u200b\u00ad"
SPECIMENS += "\ufffd\u0301\u0327\u0345\u302e\u302f\U0001d165\U0001d16d\U00016ff0\u1baa"
KEPT_MARKS = {c for c in CHARACTERS if unicodedata.combining(c) and unicodedata.category(c) != "Mn"}
PARTS = st.one_of(
    st.sampled_from([*SPECIMENS, " ", "##", "ab", "ΑΣ", "[MASK]", "[UNK]"]),
    st.characters(exclude_categories=["Cs", "Cn"]),
    st.builds(lambda c, n: c * n, st.sampled_from("aéß字한กΣ\u302e"), st.integers(60, 210)),
)
TEXTS = st.lists(st.lists(PARTS, max_size=12).map("".join), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(texts=TEXTS)
def test_random_texts(tokenizer, ids, texts):
    assert_exact(tokenizer, ids, texts)


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.lists(st.one_of(PARTS.map(str.encode), st.binary(max_size=3)), max_size=8).map(b"".join), min_size=1, max_size=4))
def test_random_bytes(tokenizer, ids, texts):
    decoded = [expected(text.decode("utf-8", "replace"), ids, tokenizer.lowercase) for text in texts]
    assert tokenizer(tf.constant(texts)).to_list() == decoded


@settings(max_examples=200, deadline=None)
@given(texts=TEXTS)
def test_offsets_of_random_texts(tokenizer, texts):
    # Marks that are out of canonical order change places, and their offsets do not follow them.
    assume(all(sum(c in KEPT_MARKS for c in text) < 2 for text in texts))
    pieces, starts, ends = (places.to_list() for places in tokenizer.tokenize_with_offsets(texts))
    assert pieces == tokenizer(texts).to_list()
    in_bytes = [places.to_list() for places in tokenizer.tokenize_with_offsets(texts, unit="byte")[1:]]
    for text, *row, byte_starts, byte_ends in zip(texts, pieces, starts, ends, *in_bytes, strict=True):
        for before, (id, start, end), byte_start, byte_end in zip(
            [(0, 0, 0), *zip(*row, strict=True)], zip(*row, strict=True), byte_starts, byte_ends, strict=False
        ):
            source = text[start:end]
            assert source and before[1] <= start and before[2] <= end
            assert text.encode()[byte_start:byte_end].decode() == source
            piece = tokenizer.vocabulary[id].removeprefix("##") if id > len(SPECIAL_TOKENS) else ""
            (word,) = words_of(source, tokenizer.lowercase)
            assert piece.replace("ς", "σ") in word.replace("ς", "σ")  # which of the two may be seen only in the text
            # Neither what is dropped, nor the space around, belongs to a token; the accents after its last letter do.
            assert source[0] not in "\u200b\u00ad\ufffd\x00 \n" and source[-1] not in "\u200b\u00ad\ufffd\x00 \n"
            if tokenizer.lowercase and end < len(text):
                assert unicodedata.category(text[end]) != "Mn"
