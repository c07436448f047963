import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_bert.preprocessing import SegmentPacker

CLS, SEP, PAD = 2, 3, 0
segments = st.lists(st.integers(4, 99), max_size=14)


def original(a, b, length):
    """The loop of the original code: while a pair is too long, the longer segment loses its last token."""
    a, b = list(a), None if b is None else list(b)
    while len(a) + (2 if b is None else 3 + len(b)) > length:
        (a if b is None or len(a) > len(b) else b).pop()
    token_ids = [CLS, *a, SEP]
    segment_ids = [0] * len(token_ids)
    if b is not None:
        token_ids += [*b, SEP]
        segment_ids += [1] * (len(b) + 1)
    padding = [0] * (length - len(token_ids))
    return {
        "token_ids": token_ids + [PAD] * len(padding),
        "segment_ids": segment_ids + padding,
        "padding_mask": [1] * len(token_ids) + padding,
    }


def expected(firsts, seconds, length):
    rows = [original(a, b, length) for a, b in zip(firsts, seconds, strict=True)]
    return {key: [row[key] for row in rows] for key in rows[0]}


def ragged(rows):
    return tf.ragged.constant(rows, dtype=tf.int32, ragged_rank=1)


def lists(packed):
    return {key: value.numpy().tolist() for key, value in packed.items()}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(segments, segments), min_size=1, max_size=6), st.integers(5, 20))
def test_pairs_equal_the_original_loop(pairs, length):
    firsts, seconds = zip(*pairs, strict=True)
    received = SegmentPacker(length, CLS, SEP, PAD)(ragged(firsts), ragged(seconds))
    assert lists(received) == expected(firsts, seconds, length)


@settings(max_examples=30, deadline=None)
@given(st.lists(segments, min_size=1, max_size=6), st.integers(5, 20))
def test_single_texts_equal_the_original_loop(firsts, length):
    received = SegmentPacker(length, CLS, SEP, PAD)(ragged(firsts))
    assert lists(received) == expected(firsts, [None] * len(firsts), length)


def test_the_example_of_the_docstring():
    received = SegmentPacker(7, cls_id=2, sep_id=3, pad_id=0)(ragged([[7, 8, 9]]), ragged([[5, 6]]))
    assert lists(received)["token_ids"] == [[2, 7, 8, 3, 5, 6, 3]]
    assert lists(received)["segment_ids"] == [[0, 0, 0, 0, 1, 1, 1]]


def test_lists_and_dense_tensors_are_taken_too():
    packer = SegmentPacker(8, CLS, SEP, PAD)
    reference = lists(packer(ragged([[7, 8], [9, 4]]), ragged([[5], [6]])))
    assert lists(packer([[7, 8], [9, 4]], [[5], [6]])) == reference
    assert lists(packer(tf.constant([[7, 8], [9, 4]]), tf.constant([[5], [6]]))) == reference


def test_in_a_dataset_the_shape_is_known():
    dataset = tf.data.Dataset.from_tensor_slices((ragged([[7, 8], [], [9]]), ragged([[5], [6], []]))).batch(2)
    dataset = dataset.map(SegmentPacker(6, CLS, SEP, PAD))
    for spec in dataset.element_spec.values():
        assert (spec.shape.as_list(), spec.dtype) == ([None, 6], tf.int32)
    received = np.concatenate([batch["token_ids"] for batch in dataset])
    assert received.tolist() == expected([[7, 8], [], [9]], [[5], [6], []], 6)["token_ids"]


def test_configuration_round_trip():
    packer = SegmentPacker(9, CLS, SEP, 1)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(packer))
    assert again.get_config() == packer.get_config()


def test_a_length_without_room_for_a_pair_is_an_error():
    with pytest.raises(ValueError, match="at least 5.*Received: 4"):
        SegmentPacker(4, CLS, SEP)
