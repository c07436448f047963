import random
import sys

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert.preprocessing.character_map import character_map

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def test_every_character_becomes_what_the_map_says_and_all_others_stay():
    rng = random.Random(0)
    texts = ["", " ", "a", "字字", "x" * 63, *(chr(rng.randrange(0x20, 0x3000)) * rng.randrange(1, 9) for _ in range(1000))]
    pairs = {c: rng.choice(texts) for c in ["\0", "\x7f", "\uffff", chr(sys.maxunicode), *rng.sample(CHARACTERS, 5000)]}
    normalizer = tf_text.FastBertNormalizer(model_buffer=character_map(pairs.items()))
    received = normalizer.normalize(tf.constant(CHARACTERS)).numpy().tolist()
    assert received == [pairs.get(c, c).encode() for c in CHARACTERS]


def test_ill_formed_utf8_goes_out():
    normalizer = tf_text.FastBertNormalizer(model_buffer=character_map([]))
    rng = random.Random(0)
    texts = [bytes(rng.choices(b"ab\x80\xbf\xc1\xc2\xe0\xe2\xed\x9f\xa0\xf0\x90\xf4\x8f\xf5\xff", k=12)) for _ in range(5000)]
    received = normalizer.normalize(tf.constant(texts)).numpy().tolist()
    assert received == [text.decode("utf-8", "ignore").encode() for text in texts]
