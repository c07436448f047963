"""Packs one or two texts into BERT's input format."""

import keras

from keras_bert.preprocessing.text_layer import TextLayer


@keras.saving.register_keras_serializable("keras_bert")
class SegmentPacker(TextLayer):
    """Builds `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, cut and padded to one length (Devlin et al., 2018, figure 2).

    A pair that is too long loses tokens from the end of its longer segment, one by one; of B, when both are equally long.

        A = 7 8 9, B = 5 6, sequence_length = 7, cls_id = 2, sep_id = 3, pad_id = 0
        token_ids    2 7 8 3 5 6 3
        segment_ids  0 0 0 0 1 1 1

    Args:
        sequence_length: tokens per row, T.
        cls_id, sep_id, pad_id: ids of `[CLS]`, `[SEP]` and `[PAD]`.

    Call arguments:
        first: ragged int32 (B, None): the ids of A.
        second: ragged int32 (B, None): the ids of B, or `None`.

    Returns:
        A dictionary of int32 (B, T): `token_ids`, `segment_ids`, `padding_mask` (1 = real token).
    """

    def __init__(self, sequence_length: int, cls_id: int, sep_id: int, pad_id: int = 0, **kwargs):
        super().__init__(**kwargs)
        if sequence_length < 5:
            raise ValueError(f"sequence_length must be at least 5, for a pair and its special tokens. Received: {sequence_length}")
        self.sequence_length = sequence_length
        self.cls_id = cls_id
        self.sep_id = sep_id
        self.pad_id = pad_id

    def call(self, first, second=None):
        import tensorflow as tf

        a, a_length = self._dense(first)
        if second is None:
            b, b_length = tf.zeros([tf.shape(a)[0], 1], tf.int32), tf.zeros([tf.shape(a)[0], 1], tf.int32)
            specials = 2
        else:
            b, b_length = self._dense(second)
            specials = 3
        room = self.sequence_length - specials
        a_length = tf.minimum(a_length, tf.maximum((room + 1) // 2, room - b_length) if specials == 3 else room)
        b_length = tf.minimum(b_length, room - a_length)

        place = tf.range(self.sequence_length)[None]  # (1, T); everything else below is (B, 1) or (B, T)
        b_start = a_length + 2
        end = b_start + b_length + specials - 2  # one past the last [SEP]
        in_a = (place >= 1) & (place <= a_length)
        in_b = (place >= b_start) & (place < b_start + b_length)
        token_ids = tf.where(place < end, self.sep_id, self.pad_id)
        token_ids = tf.where(place == 0, self.cls_id, token_ids)
        token_ids = tf.where(in_a, self._shifted(a, place - 1), token_ids)
        token_ids = tf.where(in_b, self._shifted(b, place - b_start), token_ids)
        return {
            "token_ids": token_ids,
            "segment_ids": tf.cast((place >= b_start) & (place < end), tf.int32),
            "padding_mask": tf.cast(place < end, tf.int32),
        }

    @staticmethod
    def _dense(segment):
        """Ragged (B, None) → at least one column wide, and the lengths (B, 1)."""
        import tensorflow as tf

        if not isinstance(segment, tf.RaggedTensor):
            segment = (
                tf.ragged.constant(segment, dtype=tf.int32) if isinstance(segment, (list, tuple)) else tf.RaggedTensor.from_tensor(segment)
            )
        lengths = tf.cast(segment.row_lengths(), tf.int32)[:, None]
        return tf.pad(segment.to_tensor(), [[0, 0], [0, 1]]), lengths

    @staticmethod
    def _shifted(segment, index):
        import tensorflow as tf

        index = tf.broadcast_to(index, [tf.shape(segment)[0], tf.shape(index)[1]])
        return tf.gather(segment, tf.clip_by_value(index, 0, tf.shape(segment)[1] - 1), batch_dims=1)

    def get_config(self):
        return {
            **super().get_config(),
            "sequence_length": self.sequence_length,
            "cls_id": self.cls_id,
            "sep_id": self.sep_id,
            "pad_id": self.pad_id,
        }
