"""Masked-LM corruption, drawn anew for each seed."""

import keras
import numpy as np

from keras_bert.preprocessing.text_layer import TextLayer
from keras_bert.preprocessing.vocabulary import SPECIAL_TOKENS, SUFFIX

_MASKED, _RANDOM = 0.8, 0.1  # shares of the chosen tokens; the rest stays as it is


@keras.saving.register_keras_serializable("keras_bert")
class DynamicMasking(TextLayer):
    """Chooses tokens to predict and corrupts them (Devlin et al., 2018, section 3.1, task 1).

    Of the n tokens of a row that are not special, exactly `max(1, round(rate * n))` are chosen, at most
    `max_predictions`. Of these 80 % become `[MASK]`, 10 % a random token that is not special, 10 % stay. With
    `whole_word`, the pieces of a word are chosen together, and words are taken while they fit into that number
    (a single word that alone does not fit is cut).

    The result is a pure function of the row and its seed. The layer keeps no random state.

    Args:
        vocabulary: the list of pieces; a piece's place is its id.
        max_predictions: most tokens to predict in a row, P.
        rate: share of tokens to choose.
        whole_word: whether to choose whole words.

    Call arguments:
        token_ids: int32 (B, T), with the special tokens and the padding.
        seeds: int64 (B,): one seed per row.

    Returns:
        A dictionary: `token_ids` int32 (B, T), corrupted; `mask_positions` int32 (B, P), ascending; `mask_ids` int32
        (B, P), the original tokens there; `mask_weights` float32 (B, P), 1 for a prediction and 0 for filler, which
        stands at the end with position 0.
    """

    def __init__(self, vocabulary, max_predictions: int, rate: float = 0.15, whole_word: bool = False, **kwargs):
        super().__init__(**kwargs)
        vocabulary = list(vocabulary)
        if "[MASK]" not in vocabulary:
            raise ValueError(f"The vocabulary must hold [MASK]. Received: {len(vocabulary)} pieces without it.")
        if not 0 < rate < 1:
            raise ValueError(f"rate must be between 0 and 1. Received: rate={rate}")
        if max_predictions < 1:
            raise ValueError(f"max_predictions must be at least 1. Received: max_predictions={max_predictions}")
        self.vocabulary = vocabulary
        self.max_predictions = max_predictions
        self.rate = rate
        self.whole_word = whole_word
        self._mask_id = vocabulary.index("[MASK]")
        self._is_special = np.array([piece in SPECIAL_TOKENS for piece in vocabulary])
        self._is_suffix = np.array([piece.startswith(SUFFIX) for piece in vocabulary])
        self._ordinary_ids = np.flatnonzero(~self._is_special).astype("int32")

    def call(self, token_ids, seeds):
        import tensorflow as tf

        token_ids = tf.convert_to_tensor(token_ids, tf.int32)
        seeds = tf.convert_to_tensor(seeds, tf.int64)[:, None]
        length = tf.shape(token_ids)[1]
        candidate = ~tf.gather(self._is_special, token_ids)  # (B, T)
        n = tf.reduce_sum(tf.cast(candidate, tf.int32), axis=1, keepdims=True)
        count = tf.maximum(1, tf.cast(tf.round(self.rate * tf.cast(n, tf.float32)), tf.int32))
        count = tf.minimum(count, tf.minimum(n, self.max_predictions))  # (B, 1)

        place = tf.broadcast_to(tf.range(length)[None], tf.shape(token_ids))
        chosen = self._chosen(token_ids, candidate, count, place, seeds)  # (B, T)

        # The chosen places in ascending order, then filler.
        taken = tf.minimum(self.max_predictions, length)
        key = tf.where(chosen, place, length)
        positions = tf.sort(key, axis=1)[:, :taken]
        positions = tf.pad(positions, [[0, 0], [0, self.max_predictions - taken]], constant_values=length)
        valid = positions < length
        positions = tf.ensure_shape(tf.where(valid, positions, 0), [None, self.max_predictions])
        originals = tf.where(valid, tf.gather(token_ids, positions, batch_dims=1), 0)

        fate = _uniform(place, seeds, stream=1)
        some = tf.cast(_bits(place, seeds, stream=2) % len(self._ordinary_ids), tf.int32)
        random_ids = tf.gather(self._ordinary_ids, some)
        corrupted = tf.where(fate < _MASKED, self._mask_id, tf.where(fate < _MASKED + _RANDOM, random_ids, token_ids))
        return {
            "token_ids": tf.where(chosen, corrupted, token_ids),
            "mask_positions": positions,
            "mask_ids": originals,
            "mask_weights": tf.cast(valid, tf.float32),
        }

    def _chosen(self, token_ids, candidate, count, place, seeds):
        """Which places of (B, T) are predicted: `count` (B, 1) of the candidates."""
        import tensorflow as tf

        word = place
        if self.whole_word:
            continues = candidate & tf.gather(self._is_suffix, token_ids)
            word = tf.cumsum(tf.cast(~continues, tf.int32), axis=1)
        # Candidates in the order of their words' random scores, the pieces of a word in the order of the text.
        score = tf.cast(_bits(word, seeds, stream=0), tf.int64) * 2**24 + tf.cast(place, tf.int64)
        score = tf.where(candidate, score, tf.int64.max)
        rank = tf.argsort(tf.argsort(score, axis=1), axis=1)  # (B, T)
        chosen = rank < count
        if not self.whole_word:
            return chosen
        # A word at the end of the order that is only partly in goes out, unless nothing else is in.
        rows, columns = tf.unstack(tf.shape(token_ids))
        segment = word + (columns + 1) * tf.range(rows)[:, None]
        cut = tf.math.unsorted_segment_max(tf.where(candidate, rank, -1), segment, rows * (columns + 1)) >= tf.repeat(
            count[:, 0], columns + 1
        )
        holds_first = tf.math.unsorted_segment_min(rank, segment, rows * (columns + 1)) == 0
        return chosen & tf.gather(~cut | holds_first, segment)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": self.vocabulary,
            "max_predictions": self.max_predictions,
            "rate": self.rate,
            "whole_word": self.whole_word,
        }


def _bits(place, seeds, stream: int):
    """Uniform uint32 (B, T): a hash of each row's seed, the stream and the place."""
    import tensorflow as tf

    unsigned = tf.bitcast(seeds, tf.uint32)  # (B, 1, 2)
    key_1 = _mix(unsigned[..., 0], tf.constant(stream, tf.uint32))
    key_2 = _mix(unsigned[..., 1], key_1)
    return _mix(tf.cast(place, tf.uint32) + key_1, key_2)


def _uniform(place, seeds, stream: int):
    """Uniform float32 (B, T) in [0, 1)."""
    import tensorflow as tf

    return tf.cast(tf.bitwise.right_shift(_bits(place, seeds, stream), tf.constant(8, tf.uint32)), tf.float32) / 2**24


def _mix(x, key):
    """A bijection of uint32 for each `key`: a 32-bit finaliser with low bias (C. Wellons' hash prospector)."""
    import tensorflow as tf

    def xor_shift(x, bits):
        return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(bits, tf.uint32)))

    x = xor_shift(x, 16) * tf.constant(0x7FEB352D, tf.uint32)
    x = xor_shift(tf.bitwise.bitwise_xor(x, key), 15) * tf.constant(0x846CA68B, tf.uint32)
    return xor_shift(x, 16)
