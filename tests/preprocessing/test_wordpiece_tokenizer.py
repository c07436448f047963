import json
import subprocess
import sys

import keras
import numpy as np
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


def test_a_piece_with_a_space_never_matches_across_words():
    tokenizer = WordPieceTokenizer(["[UNK]", "hot dog", "hot", "dog", "##d d", "\0", "\x11\x12"])
    for ids in (tokenizer("hot dog hot"), tokenizer.tokenize_with_offsets("hot dog hot")[0]):
        assert ids.numpy().tolist() == [2, 3, 2]


def test_special_tokens_are_never_made_of_text_even_if_they_are_words():
    tokenizer = WordPieceTokenizer([*SPECIAL_TOKENS, "k", "##eras"]).add_tokens(["keras", "hot dog"], special=True)
    text = "keras hot dog"
    long = "é" * 150  # takes the slower way
    assert tokenizer(text).numpy().tolist() == [5, 6, 1, 1]
    assert tokenizer([text, long]).to_list()[0] == [5, 6, 1, 1]
    keeping = WordPieceTokenizer.from_config({**tokenizer.get_config(), "special_tokens_in_text": True})
    assert keeping(text).numpy().tolist() == [7, 8]


def test_lists_of_unequal_length_are_ragged(tokenizer):
    assert named(tokenizer([["want", "a"], [], ["un"]])) == [[["want"], ["a"]], [], [["un"]]]
    assert tokenizer.tokenize_words(tf.constant([["want", "a"]]))[1].to_list() == [[0, 1]]
    rows = tf.ragged.constant([["want", "a"], []]).with_row_splits_dtype(tf.int32)
    assert tokenizer.tokenize_words(rows)[1].to_list() == [[0, 1], []]
    assert tokenizer.split_words("a b").numpy().tolist() == [b"a", b"b"]


@pytest.mark.parametrize("inputs", [None, ["a", None], ["a", float("nan")], 3, {"a": 1}, [["a"], 1], "\ud83d", tf.constant([1])])
def test_anything_but_strings_is_an_error_that_says_so(tokenizer, inputs):
    with pytest.raises(TypeError, match=r"(?s)Expected strings.*Received: "):
        tokenizer(inputs)


def test_words_of_another_rank_are_an_error(tokenizer):
    for words in (["a", "b"], "a", [[["a"]]]):
        with pytest.raises(ValueError, match="words must be strings .B, words"):
            tokenizer.tokenize_words(words)


@pytest.mark.parametrize("ids", [[99999], [-1], np.array([2**32 + 5]), [[1, 2], [99999]]])
def test_ids_that_no_piece_has_are_an_error(tokenizer, ids):
    with pytest.raises(ValueError, match=r"ids must be in \[0, 23\). Received: "):
        tokenizer.detokenize(ids)


def test_other_ids_are_an_error(tokenizer):
    with pytest.raises(TypeError, match="ids must be integers. Received: float64"):
        tokenizer.detokenize(np.array([1.5]))
    with pytest.raises(ValueError, match="Received: rank 0"):
        tokenizer.detokenize(7)


@pytest.mark.parametrize("vocabulary", [None, 5, b"vocab.txt", {"[UNK]", "a"}, ["[UNK]", b"a"], ["[UNK]", None]])
def test_anything_but_a_list_of_pieces_is_an_error(vocabulary):
    with pytest.raises(TypeError, match="must be"):
        WordPieceTokenizer(vocabulary)
    with pytest.raises(ValueError, match="line 2 has half a surrogate pair"):
        WordPieceTokenizer(["[UNK]", "\ud800"])


def test_words_longer_than_200_characters_are_unknown(tokenizer):
    assert named(tokenizer("a" * 200)) == ["a", *["##a"] * 199]
    assert named(tokenizer("a" * 201)) == ["[UNK]"]
    assert named(tokenizer("é" * 200)) == ["e", *["##e"] * 199]


OFFSETS = [
    ("Un Café naïve", ["Un", "Café", "naïve"]),
    ("cafe\u0301 e\u0301\u200b x", ["cafe\u0301", "e\u0301", "x"]),
    ("\u200bwa\u00ad\u200bnt\u200b , 字字。", ["wa\u00ad\u200bnt", ",", "字", "字", "。"]),
    ("İstanbul ΣΑΣ ß", ["İstanbul", "ΣΑΣ", "ß"]),
    ("😀quux 𝒳", ["😀quux", "𝒳"]),
    ("", []),
    (" \u0301\x00 ", []),
    ("a" * 250 + "\tb", ["a" * 250, "b"]),
    ("가나", ["가나"]),
]


@pytest.mark.parametrize("unit", ["character", "byte"])
def test_offsets_are_places_in_the_original(tokenizer, unit):
    texts = [text for text, _ in OFFSETS]
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts, unit=unit)
    assert (starts.dtype, ends.dtype) == (tf.int64, tf.int64)
    assert ids.to_list() == tokenizer(texts).to_list()
    for (text, words), row_starts, row_ends in zip(OFFSETS, starts.to_list(), ends.to_list(), strict=True):
        source = text if unit == "character" else text.encode()
        received = [source[start:end] for start, end in zip(row_starts, row_ends, strict=True)]
        assert received == (words if unit == "character" else [word.encode() for word in words])


def test_offsets_of_pieces_within_a_word(tokenizer):
    ids, starts, ends = tokenizer.tokenize_with_offsets("UNwantéd, x")
    assert named(ids.numpy().tolist()) == ["un", "##want", "##ed", ",", "[UNK]"]
    assert list(zip(starts.numpy(), ends.numpy(), strict=True)) == [(0, 2), (2, 6), (6, 8), (8, 9), (10, 11)]


def test_offsets_in_text_that_is_not_utf8(tokenizer):
    text = b"wa\xffnt \xe2\x82 a"
    _, starts, ends = tokenizer.tokenize_with_offsets([text])
    decoded = text.decode(errors="replace")
    assert [decoded[start:end] for start, end in zip(starts[0].numpy(), ends[0].numpy(), strict=True)] == ["wa\ufffdnt", "a"]
    _, starts, ends = tokenizer.tokenize_with_offsets([text], unit="byte")
    assert [text[start:end] for start, end in zip(starts[0].numpy(), ends[0].numpy(), strict=True)] == [b"wa\xffnt", b"a"]


def test_offsets_around_special_tokens():
    keeping = WordPieceTokenizer(VOCABULARY, special_tokens_in_text=True)
    text = "é [MASK]want[SEP]"
    ids, starts, ends = keeping.tokenize_with_offsets(text)
    assert named(ids) == ["e", "[MASK]", "want", "[SEP]"]
    assert [text[start:end] for start, end in zip(starts.numpy(), ends.numpy(), strict=True)] == ["é", "[MASK]", "want", "[SEP]"]


def test_an_unknown_unit_of_offsets_is_an_error(tokenizer):
    with pytest.raises(ValueError, match="unit must be 'character' or 'byte'. Received: unit='word'"):
        tokenizer.tokenize_with_offsets("a", unit="word")


def test_words_in(tokenizer):
    ids, places = tokenizer.tokenize_words([["unaffable", "want,", "\u200b", "字字"], [], ["a"]])
    assert named(ids) == [["un", "##aff", "##able", "want", ",", "字", "字"], [], ["a"]]
    assert places.to_list() == [[0, 0, 0, 1, 1, 3, 3], [], [0]]
    assert (ids.dtype, places.dtype) == (tf.int32, tf.int32)
    assert tokenizer.tokenize_words(tf.ragged.constant([["want"]]))[1].to_list() == [[0]]


def test_all_calls_work_in_a_dataset(tokenizer):
    dataset = tf.data.Dataset.from_tensors(tf.constant(TEXTS))
    for result in dataset.map(tokenizer.tokenize_with_offsets):
        assert all(a.to_list() == b.to_list() for a, b in zip(result, tokenizer.tokenize_with_offsets(TEXTS), strict=True))
    words = tf.data.Dataset.from_tensors(tf.ragged.constant([["want", "a"], ["un"]]))
    assert [places.to_list() for _, places in words.map(tokenizer.tokenize_words)] == [[[0, 1], [0]]]
    assert [text.numpy()[0] for text in dataset.map(tokenizer).map(tokenizer.detokenize)] == [b"unwanted, running"]


@pytest.mark.parametrize(
    "pieces, text",
    [
        ("[CLS] un ##aff ##able , a [SEP] [PAD]", "unaffable, a"),
        ("say ( a ) : [ b ] ! a . . . a ?", "say (a): [b]! a... a?"),
        ("don ' t , it ' s he ’ ll ' a '", "don't, it's he’ll ' a '"),
        ('a " b c " , " d', 'a "b c", " d'),
        ("it costs $ 5 . 00 or 50 %", "it costs $5.00 or 50%"),
        ("你 好 世 界 a 字", "你好世界 a 字"),
        ("##ed want [UNK] [MASK]", "##ed want [UNK] [MASK]"),
        ("", ""),
    ],
)
def test_detokenize(pieces, text):
    pieces = pieces.split()
    tokenizer = WordPieceTokenizer(dict.fromkeys([*SPECIAL_TOKENS, *pieces]))
    assert tokenizer.detokenize([tokenizer.token_to_id(piece) for piece in pieces]).numpy().decode() == text


def test_detokenize_takes_any_rows(tokenizer):
    ids = tokenizer(TEXTS)
    assert tokenizer.detokenize(ids).numpy().tolist() == [b"unwanted, running", b"", "unaffable 字字".encode(), b"[UNK] want"]
    assert tokenizer.detokenize(ids.to_tensor()).numpy().tolist() == tokenizer.detokenize(ids).numpy().tolist()
    assert tokenizer.detokenize(ids.to_list()).shape == (4,)
    assert tokenizer.detokenize(np.array([5, 6])).numpy() == b"unaff"


def test_text_comes_back_to_the_same_ids(shared):
    tokenizer = WordPieceTokenizer(shared / "models" / "all-MiniLM-L6-v2" / "vocab.txt")
    lines = (shared / "data" / "heldout" / "wikitext2_valid.txt").read_text(encoding="utf-8").splitlines()[:1000]
    ids = [row for row in tokenizer(lines).to_list() if tokenizer.token_to_id("[UNK]") not in row]
    assert len(ids) > 700
    assert tokenizer(tokenizer.detokenize(ids)).to_list() == ids


def test_added_tokens_take_unused_slots_and_then_new_ids():
    tokenizer = WordPieceTokenizer([*SPECIAL_TOKENS, "[unused0]", "a", "##b", "[unused1]"])
    more = tokenizer.add_tokens(["covid", "a", "##ness", "字", "covid"])
    assert more.vocabulary == [*SPECIAL_TOKENS, "covid", "a", "##b", "##ness", "字"]
    assert tokenizer.vocabulary_size() == 9
    assert [more.id_to_token(id) for id in more("Covidness 字 ab").numpy()] == ["covid", "##ness", "字", "a", "##b"]


def test_added_special_tokens_are_kept_whole_on_request():
    tokenizer = WordPieceTokenizer([*SPECIAL_TOKENS, "a"], special_tokens_in_text=True).add_tokens(["[ENT]", "[ENT]a"], special=True)
    assert tokenizer.special_tokens == [*SPECIAL_TOKENS, "[ENT]", "[ENT]a"]
    assert [tokenizer.id_to_token(id) for id in tokenizer("a[ENT] [ENT]a [ent] [MASK]").numpy()] == [
        *("a", "[ENT]", "[ENT]a"),
        *("[UNK]", "[UNK]", "[UNK]", "[MASK]"),
    ]
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(tokenizer))
    assert again.special_tokens == tokenizer.special_tokens
    assert tokenizer.add_tokens(["a", "[ENT]"], special=True).special_tokens == [*SPECIAL_TOKENS, "[ENT]", "[ENT]a", "a"]


@pytest.mark.parametrize("token", ["Covid", "two words", "co-vid", "café", "##", ""])
def test_a_token_that_no_text_gives_is_an_error(tokenizer, token):
    with pytest.raises(ValueError, match="A token must be one word"):
        tokenizer.add_tokens([token])


def test_tokens_as_one_string_are_an_error(tokenizer):
    for tokens in ("covid", 5, None, [b"covid"], [["covid"]]):
        with pytest.raises(TypeError, match="tokens must be a list of strings"):
            tokenizer.add_tokens(tokens)
    for token in ("", " ", "a\n"):
        with pytest.raises(ValueError, match="must be visible and on one line"):
            tokenizer.add_tokens([token], special=True)
    with pytest.raises(ValueError, match="may have 200 characters"):
        tokenizer.add_tokens(["z" * 201])
    with pytest.raises(TypeError, match="must be a list. Received: '.MASK.'"):
        WordPieceTokenizer(VOCABULARY, additional_special_tokens="[MASK]")
    slot = WordPieceTokenizer(["[UNK]", "[unused0]", "[unused1]"], additional_special_tokens=["[unused0]"])
    assert slot.add_tokens(["covid"]).vocabulary == ["[UNK]", "[unused0]", "covid"]
    with pytest.raises(ValueError, match="additional_special_tokens must be in the vocabulary. Received: ..x"):
        WordPieceTokenizer(VOCABULARY, additional_special_tokens=["x"])


def test_a_saved_model_needs_nothing_but_tensorflow_text(tmp_path):
    """The same ids in a process that cannot import this package, by operations that TensorFlow Serving registers."""
    tokenizer = WordPieceTokenizer(VOCABULARY, special_tokens_in_text=True)
    texts = [*TEXTS, "a [MASK] ΑΣ", "é" * 150, "", "\u302e\u16ff0"]
    module = tf.Module()
    module.tokenizer = tokenizer
    module.serve = tf.function(
        lambda texts: tokenizer.tokenize_with_offsets(texts), input_signature=[tf.TensorSpec([None], tf.string, name="texts")]
    )
    module.ids = tf.function(lambda texts: tokenizer(texts), input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    tf.saved_model.save(module, str(tmp_path / "model"))
    program = """
import json, sys
import tensorflow as tf
core = set(tf.raw_ops.__dict__)
import tensorflow_text
from tensorflow.core.protobuf import saved_model_pb2
model = saved_model_pb2.SavedModel.FromString(open(sys.argv[1] + "/saved_model.pb", "rb").read())
graph = model.meta_graphs[0].graph_def
nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
loaded = tf.saved_model.load(sys.argv[1])
texts = tf.constant(json.loads(sys.argv[2]))
results = [loaded.ids(texts), *loaded.serve(texts)]
assert "keras_bert" not in sys.modules
print(json.dumps([sorted({node.op for node in nodes} - core), [result.to_list() for result in results]]))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path / "model"), json.dumps(texts)], stdout=subprocess.PIPE, check=True, text=True
    )
    foreign, results = json.loads(done.stdout.splitlines()[-1])
    assert results == [result.to_list() for result in (tokenizer(texts), *tokenizer.tokenize_with_offsets(texts))]
    # Kernels that TensorFlow Text's `ops_lib` brings to a stock TensorFlow Serving 2.20.
    assert set(foreign) <= {"FastBertNormalize", "FastWordpieceTokenizeWithOffsets", "NormalizeUTF8", "RegexSplitWithOffsets"}


def test_ten_megabytes_in_one_string(tokenizer):
    for text in ("a" * 10_000_000, "want, " * 1_700_000, "é" * 5_000_000, "ΑΣ " * 2_000_000):
        ids = tokenizer(text)
        assert ids.shape[0] == {"a": 1, "w": 3_400_000, "é": 1, "Α": 2_000_000}[text[0]]


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


def test_learning_from_files(tmp_path):
    lines = ["The cat sat on the mat.\n", "The dog ran.\n"] * 20
    for name, part in (("a.txt", lines[:20]), ("b.txt", lines[20:])):
        (tmp_path / name).write_text("".join(part), encoding="utf-8")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    assert WordPieceTokenizer.learn(files, size=60).vocabulary == WordPieceTokenizer.learn(lines, size=60).vocabulary
    with pytest.raises(ValueError, match="is a file.*Path"):
        WordPieceTokenizer.learn([str(file) for file in files], size=60)
    with pytest.raises(TypeError, match="texts must be strings or pathlib.Path. Received: 1"):
        WordPieceTokenizer.learn([1], size=60)
    with pytest.raises(FileNotFoundError):
        WordPieceTokenizer.learn([tmp_path / "c.txt"], size=60)
    (tmp_path / "c.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match="c.txt is not valid UTF-8"):
        WordPieceTokenizer.learn([tmp_path / "c.txt"], size=60)


def test_learning_takes_words_of_many_bytes_and_any_size():
    assert "ก" in WordPieceTokenizer.learn(["ก" * 150], size=10**9).vocabulary
    for size, unused in (("60", 0), (60, -1), (60.0, 0)):
        with pytest.raises(ValueError, match="size and unused must be whole numbers"):
            WordPieceTokenizer.learn(["a"], size=size, unused=unused)


def test_learning_leaves_unused_slots():
    tokenizer = WordPieceTokenizer.learn(["The cat sat."] * 3, size=60, unused=2)
    assert tokenizer.vocabulary[5:7] == ["[unused0]", "[unused1]"]


def test_learning_keeps_case_for_a_cased_tokenizer():
    tokenizer = WordPieceTokenizer.learn(["Cat cat Cat Cat"], size=30, lowercase=False)
    assert not tokenizer.lowercase
    assert {"Cat", "cat"} <= set(tokenizer.vocabulary)


def test_endless_words_neither_slow_nor_break_what_is_learned():
    texts = ["a" * 1_000_000, "ab" * 300, "ก" * 201, *["The cat sat on the mat.", "The dog ran."] * 50]
    tokenizer = WordPieceTokenizer.learn(texts * 2, size=3000)
    assert max(map(len, tokenizer.vocabulary)) < 10
    unknown = tokenizer.token_to_id("[UNK]")
    ids = tokenizer(["the cat " + "a" * 1000, "dog"]).to_list()
    assert ids[0][-1] == unknown and unknown not in ids[0][:-1] + ids[1]
    with pytest.raises(TypeError, match="one string or path"):
        WordPieceTokenizer.learn("The cat sat.", size=50)
