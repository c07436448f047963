"""BERT's tokenizer as a Keras layer of TensorFlow operations."""

import os
from collections.abc import Iterable, Iterator

import keras

from keras_bert.preprocessing import vocabulary as vocabularies
from keras_bert.preprocessing.text_layer import TextLayer

# The character classes of the original tokenization.py, in the syntax of RE2.
_SPACE = r"[\s\p{Z}]+"
_CONTROL = r"[\p{Cc}\p{Cf}\x{FFFD}]+"
_PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"
_CJK = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}"
    r"\x{2B820}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]"
)


@keras.saving.register_keras_serializable("keras_bert")
class WordPieceTokenizer(TextLayer):
    """Splits text into word pieces as the original BERT code does (Devlin et al., 2018, section 3; Wu et al., 2016).

    Args:
        vocabulary: path of a `vocab.txt`, or the list of pieces; a piece's place is its id.
        lowercase: whether to lower-case and to strip accents (uncased models).
        special_tokens_in_text: whether `[MASK]`, `[SEP]` and the like, written in a text, become their own ids. By
            default they are split like any text.

    Call arguments:
        inputs: strings: a Python string, a list, or a string tensor of any rank. Invalid UTF-8 is dropped.

    Returns:
        int32 ids: a tensor (T,) for one string, a `tf.RaggedTensor` (B, None) for (B,) strings.

    Raises:
        ValueError: for a vocabulary with empty or repeated lines, or without `[UNK]`.
    """

    def __init__(self, vocabulary, lowercase: bool = True, special_tokens_in_text: bool = False, **kwargs):
        super().__init__(**kwargs)
        if isinstance(vocabulary, (str, os.PathLike)):
            self.vocabulary = vocabularies.read_vocabulary(vocabulary)
        else:
            self.vocabulary = list(vocabulary)
            vocabularies.check_vocabulary(self.vocabulary)
        self.lowercase = lowercase
        self.special_tokens_in_text = special_tokens_in_text
        self._ids = {piece: i for i, piece in enumerate(self.vocabulary)}
        self._kernel = None

    @classmethod
    def learn(cls, texts: Iterable[str], size: int, lowercase: bool = True, **kwargs) -> "WordPieceTokenizer":
        """A tokenizer with a vocabulary learned from `texts`: at most `size` pieces, special tokens first.

        The text is normalised and split as the tokenizer itself does; the pieces are ordered by frequency, so the
        same texts give the same vocabulary. Memory grows with the number of distinct words only.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a list or another iterable of strings. Received: one string; put it into a list.")
        splitter = cls(vocabularies.SPECIAL_TOKENS, lowercase=lowercase)

        def batches() -> Iterator[list[str]]:
            for batch in _batched(texts, 1000):
                words = splitter.split_words(batch).flat_values.numpy().tolist()
                yield [word.decode("utf-8") for word in words]

        return cls(vocabularies.learn_vocabulary(batches(), size), lowercase=lowercase, **kwargs)

    def vocabulary_size(self) -> int:
        """Number of pieces, V."""
        return len(self.vocabulary)

    def token_to_id(self, token: str) -> int:
        """The id of a piece; raises `KeyError` if the vocabulary lacks it."""
        if token not in self._ids:
            raise KeyError(f"{token!r} is not in the vocabulary of {len(self.vocabulary)} pieces.")
        return self._ids[token]

    def id_to_token(self, id: int) -> str:
        """The piece with this id."""
        if not 0 <= id < len(self.vocabulary):
            raise IndexError(f"id must be in [0, {len(self.vocabulary)}). Received: id={id}")
        return self.vocabulary[id]

    @property
    def special_tokens(self) -> list[str]:
        """The special tokens that the vocabulary holds."""
        return [token for token in vocabularies.SPECIAL_TOKENS if token in self._ids]

    def split_words(self, texts):
        """Normalised words, before they are cut into pieces: strings (B,) → ragged strings (B, None)."""
        import tensorflow as tf
        import tensorflow_text as tf_text

        x = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        x = tf.strings.regex_replace(x, r"[\t\n\r]", " ")
        x = tf.strings.regex_replace(x, _CONTROL, "")
        x = tf.strings.regex_replace(x, f"({_CJK})", r" \1 ")
        if self.lowercase:
            x = tf_text.normalize_utf8(tf.strings.lower(x, encoding="utf-8"), "NFD")
            x = tf.strings.regex_replace(x, r"\p{Mn}+", "")
        return tf_text.regex_split(x, f"{_SPACE}|{_PUNCTUATION}", keep_delim_regex_pattern=_PUNCTUATION)

    def call(self, inputs):
        import tensorflow as tf

        if isinstance(inputs, tf.RaggedTensor):
            return inputs.with_flat_values(self._tokenize(inputs.flat_values))
        texts = tf.convert_to_tensor(inputs, dtype=tf.string)
        if texts.shape.rank is None:
            raise ValueError("The rank of the strings must be known. Set the tensor's shape.")
        if texts.shape.rank == 0:
            return self._tokenize(texts[None]).flat_values
        ids = self._tokenize(tf.reshape(texts, [-1]))
        for axis in range(texts.shape.rank - 1, 0, -1):
            ids = tf.RaggedTensor.from_uniform_row_length(ids, tf.shape(texts, tf.int64)[axis])
        return ids

    def _tokenize(self, texts):
        """Strings (B,) → ragged int32 (B, None)."""
        import tensorflow as tf
        import tensorflow_text as tf_text

        if not self.special_tokens_in_text:
            return self._pieces(self.split_words(texts))
        pattern = "|".join(rf"\[{token[1:-1]}\]" for token in self.special_tokens)
        parts = tf_text.regex_split(texts, pattern, keep_delim_regex_pattern=pattern)  # (B, None)
        special = tf.strings.regex_full_match(parts.values, pattern)
        words = self.split_words(tf.where(special, "", parts.values))
        kept = tf.RaggedTensor.from_row_lengths(tf.boolean_mask(parts.values, special), tf.cast(special, tf.int64))
        words = tf.concat([words, kept], axis=1)  # one of the two is empty in every part
        return parts.with_values(self._pieces(words)).merge_dims(1, 2)

    def _pieces(self, words):
        """Ragged words (B, None) → ragged ids (B, None), longest match first."""
        import tensorflow as tf
        import tensorflow_text as tf_text

        if self._kernel is None:
            with tf.init_scope():
                self._kernel = tf_text.FastWordpieceTokenizer(
                    vocab=self.vocabulary,
                    suffix_indicator=vocabularies.SUFFIX,
                    max_bytes_per_word=4 * vocabularies.LONGEST_WORD,
                    token_out_type=tf.int32,
                    unknown_token="[UNK]",
                    no_pretokenization=True,
                    support_detokenization=False,
                )
        flat = words.values
        flat = tf.where(tf.strings.length(flat, unit="UTF8_CHAR") > vocabularies.LONGEST_WORD, "[UNK]", flat)
        pieces = self._kernel.tokenize(flat)  # (words, None)
        return words.with_values(pieces).merge_dims(1, 2)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": self.vocabulary,
            "lowercase": self.lowercase,
            "special_tokens_in_text": self.special_tokens_in_text,
        }


def _batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
