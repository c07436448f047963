import json

import keras
import pytest
import tensorflow as tf

from keras_bert.preprocessing import WordPieceTokenizer
from keras_bert.preprocessing.vocabulary import SPECIAL_TOKENS, write_vocabulary

WORDS = ["un", "##aff", "##able", "want", "##want", "##ed", "runn", "##ing", ",", "[", "]", "mask", "a", "##a", "e", "##e", "字", "Want"]
VOCABULARY = [*SPECIAL_TOKENS, *WORDS]
TEXTS = ["UNwantéd, running", "", "unaffable 字字", "quux want"]
PIECES = [["un", "##want", "##ed", ",", "runn", "##ing"], [], ["un", "##aff", "##able", "字", "字"], ["[UNK]", "want"]]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(VOCABULARY)


def named(ids):
    """Nested ids → nested pieces."""
    if isinstance(ids, int):
        return VOCABULARY[ids]
    return [named(i) for i in (ids if isinstance(ids, list) else ids.numpy().tolist() if isinstance(ids, tf.Tensor) else ids.to_list())]


def test_pieces_of_the_original_test(tokenizer):
    assert named(tokenizer(TEXTS)) == PIECES


@pytest.mark.parametrize("column", ["uncased", "cased"])
def test_ids_equal_the_original_code(shared, column):
    # Not `splitlines`, which also splits at line separators inside a text.
    lines = (shared / "golden" / "tokenization.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    tokenizer = WordPieceTokenizer(shared / "models" / "all-MiniLM-L6-v2" / "vocab.txt", lowercase=column == "uncased")
    received = tokenizer([row["text"] for row in rows]).to_list()
    different = [row["text"] for row, ids in zip(rows, received, strict=True) if ids != row[column]]
    assert not different, f"{len(different)} of {len(rows)} texts differ: {different[:5]}"


def test_shapes(tokenizer):
    scalar = tokenizer(TEXTS[0])
    assert (scalar.dtype, named(scalar)) == (tf.int32, PIECES[0])
    vector = tokenizer(tf.constant(TEXTS))
    assert isinstance(vector, tf.RaggedTensor)
    assert (vector.dtype, vector.shape.as_list()) == (tf.int32, [4, None])
    matrix = tokenizer([TEXTS[:2], TEXTS[2:]])
    assert matrix.shape.as_list()[:2] == [2, 2]
    assert named(matrix) == [PIECES[:2], PIECES[2:]]
    ragged = tokenizer(tf.ragged.constant([TEXTS[:1], [], TEXTS[1:]]))
    assert named(ragged) == [PIECES[:1], [], PIECES[1:]]
    assert tokenizer(tf.constant([], tf.string)).to_list() == []


def test_in_a_dataset(tokenizer):
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS)
    assert [named(ids) for ids in dataset.map(tokenizer)] == PIECES
    assert [named(ids) for ids in dataset.batch(3).map(tokenizer)] == [PIECES[:3], PIECES[3:]]


@pytest.mark.parametrize("special", [False, True])
def test_a_saved_model_gives_the_same_ids(tmp_path, special):
    tokenizer = WordPieceTokenizer(VOCABULARY, special_tokens_in_text=special)
    module = tf.Module()
    module.tokenizer = tokenizer
    module.serve = tf.function(lambda texts: tokenizer(texts), input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    texts = [*TEXTS, "a [MASK] a"]
    assert loaded.serve(tf.constant(texts)).to_list() == tokenizer(texts).to_list()


def test_special_tokens_in_text_are_kept_on_request(tokenizer):
    assert named(tokenizer("a [MASK] a")) == ["a", "[", "mask", "]", "a"]
    keeping = WordPieceTokenizer(VOCABULARY, special_tokens_in_text=True)
    assert named(keeping("a [MASK] a")) == ["a", "[MASK]", "a"]
    assert named(keeping(["[CLS]want[SEP][SEP]", "", "[mask]", "[[MASK]]"])) == [
        ["[CLS]", "want", "[SEP]", "[SEP]"],
        [],
        ["[", "mask", "]"],
        ["[", "[MASK]", "]"],
    ]
    assert named(keeping(TEXTS)) == PIECES


def test_case_and_accents():
    cased = WordPieceTokenizer(VOCABULARY, lowercase=False)
    assert named(cased("Want want WANT wanté")) == ["Want", "want", "[UNK]", "[UNK]"]
    assert named(WordPieceTokenizer(VOCABULARY)("Want WANT e\u0301É")) == ["want", "want", "e", "##e"]


def test_words_longer_than_200_characters_are_unknown(tokenizer):
    assert named(tokenizer("a" * 200)) == ["a", *["##a"] * 199]
    assert named(tokenizer("a" * 201)) == ["[UNK]"]
    assert named(tokenizer("é" * 200)) == ["e", *["##e"] * 199]


def test_invalid_utf8_and_control_characters_are_dropped(tokenizer):
    assert named(tokenizer(tf.constant([b"wa\xffnt", b"wa\x00n\xc2\xadt", b"a\tb\xc2\xa0a"]))) == [["want"], ["want"], ["a", "[UNK]", "a"]]


def test_vocabulary_from_a_file_and_look_up(tmp_path, tokenizer):
    write_vocabulary(VOCABULARY, tmp_path / "vocab.txt")
    from_file = WordPieceTokenizer(tmp_path / "vocab.txt")
    assert from_file.vocabulary == VOCABULARY
    assert from_file.vocabulary_size() == len(VOCABULARY)
    assert [from_file.token_to_id(piece) for piece in VOCABULARY] == list(range(len(VOCABULARY)))
    assert from_file.id_to_token(4) == "[MASK]"
    assert from_file.special_tokens == list(SPECIAL_TOKENS)
    with pytest.raises(KeyError, match="quux"):
        tokenizer.token_to_id("quux")
    with pytest.raises(IndexError, match="id=-1"):
        tokenizer.id_to_token(-1)


def test_a_vocabulary_without_unk_is_an_error():
    with pytest.raises(ValueError, match=r"no \[UNK\]"):
        WordPieceTokenizer(["a", "b"])


def test_configuration_round_trip():
    tokenizer = WordPieceTokenizer(VOCABULARY, lowercase=False, special_tokens_in_text=True, name="words")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(tokenizer))
    assert again.get_config() == tokenizer.get_config()
    assert again("Want [MASK]").numpy().tolist() == tokenizer("Want [MASK]").numpy().tolist()


def test_learning_twice_gives_the_same_vocabulary():
    texts = ["The cat sat on the mat, the cat.", "Ünder the 字 mat: a cat!", "cats and mats", ""] * 3
    first, second = (WordPieceTokenizer.learn(iter(texts), size=120) for _ in range(2))
    assert first.vocabulary == second.vocabulary
    assert first.vocabulary[:5] == list(SPECIAL_TOKENS)
    assert first.vocabulary_size() <= 120
    assert {"the", "cat", "字", ",", "!"} <= set(first.vocabulary)
    assert not any(piece != piece.lower() for piece in first.vocabulary[5:])
    unknown = first.token_to_id("[UNK]")
    assert not any(unknown in ids for ids in first(texts).to_list())


def test_learning_keeps_case_for_a_cased_tokenizer():
    tokenizer = WordPieceTokenizer.learn(["Cat cat Cat Cat"], size=30, lowercase=False)
    assert not tokenizer.lowercase
    assert {"Cat", "cat"} <= set(tokenizer.vocabulary)


def test_endless_words_neither_slow_nor_break_what_is_learned():
    texts = ["a" * 1_000_000, "ab" * 300, "ก" * 150, *["The cat sat on the mat.", "The dog ran."] * 50]
    tokenizer = WordPieceTokenizer.learn(texts * 2, size=3000)
    assert max(map(len, tokenizer.vocabulary)) < 10
    unknown = tokenizer.token_to_id("[UNK]")
    ids = tokenizer(["the cat " + "a" * 1000, "dog"]).to_list()
    assert ids[0][-1] == unknown and unknown not in ids[0][:-1] + ids[1]
    with pytest.raises(TypeError, match="one string"):
        WordPieceTokenizer.learn("The cat sat.", size=50)
