import random

import pytest

from keras_bert.preprocessing import vocabulary_learning
from keras_bert.preprocessing.vocabulary import SPECIAL_TOKENS
from keras_bert.preprocessing.vocabulary_learning import learn_vocabulary


def test_learning_orders_pieces_by_frequency():
    learned = learn_vocabulary([[b"ab"] * 9, [b"cd"] * 3, [b"ab"]], size=13)
    assert learned[:5] == list(SPECIAL_TOKENS)
    assert learned[5] == "ab"
    assert len(learned) <= 13


def test_learning_keeps_within_the_size():
    words = [b"w%dx%d" % (i, i % 7) for i in range(300)]
    for size in (40, 100):
        assert len(learn_vocabulary([words], size)) == size


@pytest.mark.parametrize("size", [40, 300])
def test_learning_is_deterministic_where_frequencies_tie(size):
    rng = random.Random(0)
    words = [bytes(rng.choices(b"abcdefghijklm", k=rng.randint(1, 8))) for _ in range(1000)]
    learned = learn_vocabulary([words], size)
    for _ in range(3):
        assert learn_vocabulary([words], size) == learned


def test_learning_from_nothing_is_an_error():
    with pytest.raises(ValueError, match="the text is empty"):
        learn_vocabulary([], 100)


def test_a_size_without_room_for_the_characters_is_an_error():
    with pytest.raises(ValueError, match="no room for the characters of the text. Received: size=6"):
        learn_vocabulary([[b"abcdef", b"ghij"]], 6)


def test_unused_slots_follow_the_special_tokens():
    learned = learn_vocabulary([[b"ab"] * 9], size=13, unused=3)
    assert learned[:9] == [*SPECIAL_TOKENS, "[unused0]", "[unused1]", "[unused2]", "ab"]
    assert len(learned) <= 13


def test_the_rarest_words_go_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(vocabulary_learning, "_MOST_WORDS", 100)
    rare = [b"rare%d" % i for i in range(10_000)]
    batches = [[*rare[start : start + 50], b"frequent", b"common"] for start in range(0, 10_000, 50)]
    kept = vocabulary_learning._count(batches)
    assert len(kept) <= 100
    assert kept["frequent"] == kept["common"] == 200
    # What becomes frequent only late is kept as well.
    late = vocabulary_learning._count([*batches, *([*rare[start : start + 50], *[b"late"] * 3] for start in range(0, 1000, 50))])
    assert late["late"] == 60


def test_large_counts_are_shrunk_and_keep_their_order(monkeypatch):
    monkeypatch.setattr(vocabulary_learning, "_LARGEST_TOTAL", 200)
    words = [b"often"] * 3000 + [b"seldom"] * 1000 + [b"never"]
    assert learn_vocabulary([words], 60)[5:8] == ["often", "seldom", "never"]
