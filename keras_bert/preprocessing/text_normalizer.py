"""Normalised text by TensorFlow operations, and the way back to places in the original."""

from keras_bert.preprocessing import normalization, spans


class TextNormalizer:
    """Applies the rules of `normalization` to string tensors (B,).

    Args:
        lowercase: whether to lower-case and to strip accents.
    """

    def __init__(self, lowercase: bool):
        import tensorflow as tf
        import tensorflow_text as tf_text

        self.lowercase = lowercase
        with tf.init_scope():
            self._normalizer = tf_text.FastBertNormalizer(model_buffer=normalization.normalizing_map(lowercase))
            self._marker = tf_text.FastBertNormalizer(model_buffer=normalization.marking_map(lowercase))
            self._cleaner = tf_text.FastBertNormalizer(model_buffer=normalization.cleaning_map())

    def by_character(self, texts):
        """Normalised strings (B,) in one pass, with the word `MARKER` where that would not be exact."""
        return self._marker.normalize(texts)

    def in_context(self, texts):
        """Normalised strings (B,), by all rules."""
        import tensorflow as tf
        import tensorflow_text as tf_text

        if self.lowercase:
            texts = tf.strings.regex_replace(self._cleaner.normalize(texts), *normalization.final_sigma())
            texts = tf_text.normalize_utf8(texts, "NFD")
        return self._normalizer.normalize(texts)

    def with_origins(self, texts):
        """Normalised strings (B,), by all rules, and a function that takes spans in these back to the original.

        The function turns rows, starts and ends in bytes, int64 (N,), into starts and ends in the original texts. A span
        there has the accents after its last letter, and no control characters before or after it.
        """
        import tensorflow as tf

        cleaned, kept = self._cleaner.normalize_with_offsets(texts)
        if self.lowercase:
            cleaned = tf.strings.regex_replace(cleaned, *normalization.final_sigma())  # every byte keeps its place
        normalized, origins = self._normalizer.normalize_with_offsets(cleaned)

        def to_original(rows, starts, ends):
            starts = spans.look_up(origins, rows, starts)
            ends = spans.next_place(cleaned, origins, rows, spans.look_up(origins, rows, ends - 1) + 1)  # where a next one could start
            return spans.look_up(kept, rows, starts), spans.look_up(kept, rows, ends - 1) + 1

        return self._in_order(cleaned, normalized) if self.lowercase else normalized, to_original

    def _in_order(self, texts, normalized):
        """The normalised strings, with combining marks in canonical order; all else keeps its place."""
        import tensorflow as tf
        import tensorflow_text as tf_text

        marked = tf.strings.regex_full_match(texts, normalization.mark_pattern())

        def ordered():
            x = self._normalizer.normalize(tf_text.normalize_utf8(texts, "NFD"))
            return tf.where(marked & (tf.strings.length(x) == tf.strings.length(normalized)), x, normalized)

        return tf.cond(tf.reduce_any(marked), ordered, lambda: normalized)


def split_words(normalized):
    """Normalised strings (B,) → words, ragged strings (B, None)."""
    import tensorflow as tf

    apart = tf.strings.regex_replace(normalized, f"([{normalization.ASCII_PUNCTUATION}{normalization.CJK}])", r" \1 ")
    return tf.strings.split(apart)


def split_words_with_offsets(normalized):
    """Like `split_words`, with the words' starts and ends in bytes: a tuple of three ragged tensors (B, None)."""
    import tensorflow_text as tf_text

    separate = f"[{normalization.ASCII_PUNCTUATION}{normalization.CJK}]"
    return tf_text.regex_split_with_offsets(normalized, f" |{separate}", keep_delim_regex_pattern=separate)
