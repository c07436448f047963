"""BERT's tokenizer as a Keras layer of TensorFlow operations."""

import os
import re
import reprlib
from collections.abc import Iterable

import keras

from keras_bert.preprocessing import spans, text_normalizer
from keras_bert.preprocessing import vocabulary as vocabularies
from keras_bert.preprocessing.detokenization import tidy
from keras_bert.preprocessing.normalization import MARKER
from keras_bert.preprocessing.text_layer import TextLayer, as_texts, on_flat_texts
from keras_bert.preprocessing.vocabulary_learning import batches_of_texts, learn_vocabulary


@keras.saving.register_keras_serializable("keras_bert")
class WordPieceTokenizer(TextLayer):
    """Splits text into word pieces as the original BERT code does (Devlin et al., 2018, section 3; Wu et al., 2016).

    The pieces are those of the original `tokenization.py`, to the last one, at the speed of TensorFlow Text's fused
    kernels (Song et al., 2021): a text is normalised in one pass and cut in another.

    Args:
        vocabulary: path of a `vocab.txt`, or the list of pieces; a piece's place is its id.
        lowercase: whether to lower-case and to strip accents (uncased models).
        special_tokens_in_text: whether `[MASK]`, `[SEP]` and the like, written in a text, become their own ids. By
            default they are split like any text.
        additional_special_tokens: pieces of the vocabulary that are special tokens besides BERT's own.

    Call arguments:
        inputs: strings: a Python string, a list, or a string tensor of any rank. Invalid UTF-8 is dropped.

    Returns:
        int32 ids: a tensor (T,) for one string, a `tf.RaggedTensor` (B, None) for (B,) strings.

    Raises:
        ValueError: for a vocabulary with empty or repeated lines, or without `[UNK]`.
    """

    def __init__(self, vocabulary, lowercase: bool = True, special_tokens_in_text: bool = False, additional_special_tokens=(), **kwargs):
        super().__init__(**kwargs)
        if isinstance(vocabulary, (str, os.PathLike)):
            self.vocabulary = vocabularies.read_vocabulary(vocabulary)
        elif isinstance(vocabulary, Iterable) and not isinstance(vocabulary, (bytes, set, frozenset)):
            self.vocabulary = list(vocabulary)
            vocabularies.check_vocabulary(self.vocabulary)
        else:
            raise TypeError(f"vocabulary must be the path of a vocab.txt, or a list of pieces. Received: {reprlib.repr(vocabulary)}")
        if isinstance(additional_special_tokens, str):
            raise TypeError(f"additional_special_tokens must be a list. Received: {additional_special_tokens!r}; put it into a list.")
        self.lowercase = lowercase
        self.special_tokens_in_text = special_tokens_in_text
        self.additional_special_tokens = [t for t in dict.fromkeys(additional_special_tokens) if t not in vocabularies.SPECIAL_TOKENS]
        self._ids = {piece: i for i, piece in enumerate(self.vocabulary)}
        absent = [token for token in self.additional_special_tokens if token not in self._ids]
        if absent:
            raise ValueError(f"additional_special_tokens must be in the vocabulary. Received: {absent}, which are not. See add_tokens.")
        self._normalizer = self._cut_text = self._cut_word = None

    @classmethod
    def learn(
        cls, texts_or_files: Iterable[str | os.PathLike], size: int, lowercase: bool = True, unused: int = 0, **kwargs
    ) -> "WordPieceTokenizer":
        """A tokenizer with a vocabulary learned from text.

        The pieces are the special tokens, `unused` free slots, then the others by frequency. The same text gives the same
        vocabulary. Text is normalised and split as the tokenizer itself does. Memory is bounded: see `learn_vocabulary`.

        Args:
            texts_or_files: an iterable of strings, each a text, or of `pathlib.Path`, each a UTF-8 text file.
            size: number of pieces at most, special tokens and free slots included.
            lowercase: whether the tokenizer is uncased.
            unused: number of slots `[unused0]`, `[unused1]`, … to leave for tokens that are added later.
            **kwargs: further arguments of the tokenizer.
        """
        if not isinstance(size, int) or not isinstance(unused, int) or unused < 0:
            raise ValueError(f"size and unused must be whole numbers, unused at least 0. Received: size={size!r}, unused={unused!r}")
        normalizer = text_normalizer.TextNormalizer(lowercase)

        def words(batch: list[str]) -> list[bytes]:
            return text_normalizer.split_words(normalizer.in_context(batch)).flat_values.numpy().tolist()

        return cls(learn_vocabulary(map(words, batches_of_texts(texts_or_files)), size, unused), lowercase=lowercase, **kwargs)

    # --- The vocabulary ----------------------------------------------------------------------------------------------

    def vocabulary_size(self) -> int:
        """Number of pieces, V."""
        return len(self.vocabulary)

    def token_to_id(self, token: str) -> int:
        """The id of a piece; raises `KeyError` if the vocabulary lacks it."""
        if token not in self._ids:
            raise KeyError(f"{token!r} is not in the vocabulary of {len(self.vocabulary)} pieces.")
        return self._ids[token]

    def id_to_token(self, id: int) -> str:
        """The piece with this id; raises `IndexError` if there is none."""
        if not 0 <= id < len(self.vocabulary):
            raise IndexError(f"id must be in [0, {len(self.vocabulary)}). Received: id={id}")
        return self.vocabulary[id]

    @property
    def special_tokens(self) -> list[str]:
        """The special tokens that the vocabulary holds."""
        return [token for token in vocabularies.SPECIAL_TOKENS if token in self._ids] + self.additional_special_tokens

    def add_tokens(self, tokens: Iterable[str], special: bool = False) -> "WordPieceTokenizer":
        """A tokenizer that knows more tokens; this one stays as it is.

        The new tokens take the first `[unused…]` slots, if there are any, and then the next ids: resize a model for these
        with `keras_bert.resize_token_embeddings(model, tokenizer)`. Tokens that are known already keep their ids.

        Args:
            tokens: words, as the tokenizer normalises them, or pieces that continue a word (`##ness`).
            special: whether they are special tokens, such as `[ENTITY]`: never made from parts of a text unless
                `special_tokens_in_text`.

        Raises:
            ValueError: for a token that no text can give, as the tokenizer would split or change it.
        """
        if isinstance(tokens, str) or not isinstance(tokens, Iterable):
            raise TypeError(f"tokens must be a list of strings. Received: {tokens!r}; put it into a list.")
        tokens = list(tokens)
        if not all(isinstance(token, str) for token in tokens):
            raise TypeError(f"tokens must be a list of strings. Received: {reprlib.repr(tokens)}")
        tokens = list(dict.fromkeys(tokens))
        new = [token for token in tokens if token not in self._ids]
        self._check_new(new, special)
        vocabulary = list(self.vocabulary)
        slots = (
            i for i, piece in enumerate(vocabulary) if re.fullmatch(r"\[unused\d+\]", piece) and piece not in self.additional_special_tokens
        )
        for token in new:
            slot = next(slots, len(vocabulary))
            vocabulary[slot : slot + 1] = [token]
        additional = [*self.additional_special_tokens, *(token for token in tokens if special and token not in self.special_tokens)]
        return type(self)(**{**self.get_config(), "vocabulary": vocabulary, "additional_special_tokens": additional})

    def _check_new(self, tokens: list[str], special: bool) -> None:
        for token in tokens if special else ():
            if not token.strip() or "\n" in token or "\r" in token:
                raise ValueError(f"A special token must be visible and on one line. Received: {token!r}")
        bare = [] if special else [token.removeprefix(vocabularies.SUFFIX) for token in tokens]
        for token, words in zip(bare, self.split_words(bare).to_list(), strict=True):
            words = [word.decode() for word in words]
            if words != [token]:
                raise ValueError(
                    f"A token must be one word, as the tokenizer normalises it. Received: {token!r}, of which it makes {words}. "
                    "Add these, or pass special=True."
                )
            if len(token) > vocabularies.LONGEST_WORD:
                raise ValueError(f"A token may have {vocabularies.LONGEST_WORD} characters. Received: {token!r:.40}…, of {len(token)}.")

    # --- From text to pieces -----------------------------------------------------------------------------------------

    def call(self, inputs):
        return on_flat_texts(inputs, lambda texts: self._around_special_tokens(texts, self._tokenize))[0]

    def tokenize_with_offsets(self, inputs, unit: str = "character"):
        """Pieces and their places in the original text.

        `text[start:end]` is what the token was made from: composed characters and the accents after a letter belong to
        it, control characters before and after do not. An unknown word is one token. Tokens made from one character
        (parts of a Hangul syllable) share its place; combining marks that are not in canonical order have the places, in
        bytes, that they would have in that order.

        Args:
            inputs: as in a call of the layer.
            unit: `"character"`, places in Python's `str` (for text that is not valid UTF-8: in what
                `bytes.decode(errors="replace")` gives), or `"byte"`, places in the UTF-8 bytes.

        Returns:
            A tuple of ids, int32, starts and ends, int64: tensors of one shape, as a call of the layer gives.
        """
        if unit not in ("character", "byte"):
            raise ValueError(f"unit must be 'character' or 'byte'. Received: unit={unit!r}")

        def tokenize(texts):
            ids, starts, ends = self._around_special_tokens(texts, self._tokenize_with_offsets)
            if unit == "character":
                starts, ends = spans.to_characters(texts, starts, ends)
            return ids, starts, ends

        return on_flat_texts(inputs, tokenize)

    def tokenize_words(self, words):
        """Pieces of texts that are split into words already, as for tagging.

        Args:
            words: strings (B, None): ragged, a tensor, or a list of lists. A word may give any number of pieces.

        Returns:
            A tuple of ragged int32 (B, None): the ids, and for each the place of its word in the row.
        """
        import tensorflow as tf

        words = as_texts(words)
        if words.shape.rank != 2:
            raise ValueError(f"words must be strings (B, words), such as a list of lists of words. Received: rank {words.shape.rank}")
        words = words if isinstance(words, tf.RaggedTensor) else tf.RaggedTensor.from_tensor(words)
        words = words.with_row_splits_dtype(tf.int64)
        ids = self(words)  # (B, words, pieces)
        word = spans.rows_of(ids.values)
        place = word - tf.gather(words.row_splits, tf.gather(spans.rows_of(words), word))
        flat = spans.merged(words, ids.values)
        return flat, flat.with_values(tf.cast(place, tf.int32))

    def split_words(self, texts):
        """Normalised words, before they are cut into pieces: strings (B,) → ragged strings (B, None)."""
        self._build_kernels()
        return on_flat_texts(texts, lambda texts: (text_normalizer.split_words(self._normalizer.in_context(texts)),))[0]

    def _tokenize(self, texts):
        """Strings (B,) → a tuple of ragged ids (B, None)."""
        import tensorflow as tf

        self._build_kernels()
        ids, starts, ends = self._cut_text.tokenize_with_offsets(self._normalizer.by_character(texts))
        rare = tf.reduce_any(ids.values == len(self.vocabulary)) | self._any_long(starts, ends)  # the marker's id is the next one

        def by_words():
            words = text_normalizer.split_words(self._normalizer.in_context(texts))
            return spans.merged(words, self._cut_word.tokenize(self._known_length(words.values)))

        return (tf.cond(rare, by_words, lambda: ids),)

    def _tokenize_with_offsets(self, texts):
        """Strings (B,) → ids, starts, ends: ragged (B, None), places in bytes."""
        import tensorflow as tf

        self._build_kernels()
        normalized, to_original = self._normalizer.with_origins(texts)
        ids, starts, ends = self._cut_text.tokenize_with_offsets(normalized)

        def by_words():
            words, begins, limits = text_normalizer.split_words_with_offsets(normalized)
            known = self._known_length(words.values)
            ids, starts, ends = self._cut_word.tokenize_with_offsets(known)
            word = spans.rows_of(ids)
            begin = tf.gather(begins.values, word)
            ends = tf.where(tf.gather(known == words.values, word), begin + ends.values, tf.gather(limits.values, word))
            pieces = (ids, ids.with_values(begin + starts.values), ids.with_values(ends))
            return tuple(spans.merged(words, values) for values in pieces)

        ids, starts, ends = tf.cond(self._any_long(starts, ends), by_words, lambda: (ids, starts, ends))
        starts, ends = map(ids.with_values, to_original(spans.rows_of(ids), starts.values, ends.values))
        return ids, starts, ends

    @staticmethod
    def _any_long(starts, ends):
        """Whether there is a word of so many bytes that the kernel for texts takes it for unknown, whatever its characters."""
        import tensorflow as tf

        return tf.reduce_any(ends.values - starts.values > vocabularies.LONGEST_WORD)

    @staticmethod
    def _known_length(words):
        """The words, `[UNK]` in place of those with too many characters."""
        import tensorflow as tf

        return tf.where(tf.strings.length(words, unit="UTF8_CHAR") > vocabularies.LONGEST_WORD, "[UNK]", words)

    def _around_special_tokens(self, texts, tokenize):
        """Applies `tokenize`, which gives ids, or ids, starts and ends, to what stands between special tokens."""
        import tensorflow as tf
        import tensorflow_text as tf_text

        if not self.special_tokens_in_text:
            return tokenize(texts)
        self._build_kernels()
        pattern = "|".join(map(re.escape, sorted(self.special_tokens, key=len, reverse=True)))
        parts, begins, _ = tf_text.regex_split_with_offsets(texts, pattern, keep_delim_regex_pattern=pattern)  # (B, None)
        special = tf.strings.regex_full_match(parts.values, pattern)
        between = tokenize(tf.where(special, "", parts.values))
        tokens = tf.boolean_mask(parts.values, special)
        ids = [self._ids[token] for token in self.special_tokens]
        ids = tf.gather(tf.constant(ids), tf.argmax(tokens[:, None] == tf.constant(self.special_tokens), axis=1))
        lengths = tf.cast(tf.strings.length(tokens), tf.int64)
        own = [tf.RaggedTensor.from_row_lengths(values, tf.cast(special, tf.int64)) for values in (ids, tf.zeros_like(lengths), lengths)]
        both = [tf.concat(pair, axis=1) for pair in zip(between, own, strict=False)]  # one of the two is empty for each part
        shift = tf.gather(begins.values, spans.rows_of(both[0]))
        both[1:] = [places.with_values(places.values + shift) for places in both[1:]]
        return tuple(spans.merged(parts, values) for values in both)

    def _build_kernels(self):
        """Makes the tables of the operations, outside of any graph, on first use."""
        if self._normalizer is not None:
            return
        import tensorflow as tf
        import tensorflow_text as tf_text

        def is_of_text(piece: str) -> bool:
            return piece not in self.additional_special_tokens and not any(c in piece for c in " \0\x11\x12")

        # The kernels match spaces too, stumble over some control characters and take special tokens like any other
        # piece. No text has a piece with a bracket in it.
        pieces = [piece if is_of_text(piece) else f"[\x11{id}]" for id, piece in enumerate(self.vocabulary)]

        def kernel(longest_word: int, of_text: bool):
            return tf_text.FastWordpieceTokenizer(
                vocab=[*pieces, MARKER],
                suffix_indicator=vocabularies.SUFFIX,
                max_bytes_per_word=longest_word,
                token_out_type=tf.int32,
                unknown_token="[UNK]",
                no_pretokenization=not of_text,
            )

        with tf.init_scope():
            self._cut_text = kernel(vocabularies.LONGEST_WORD, of_text=True)
            self._cut_word = kernel(4 * vocabularies.LONGEST_WORD, of_text=False)
        self._normalizer = text_normalizer.TextNormalizer(self.lowercase)

    # --- And back ----------------------------------------------------------------------------------------------------

    def detokenize(self, ids):
        """Text from ids: word pieces are joined, and spaces round punctuation tidied. `[PAD]`, `[CLS]`, `[SEP]` go out.

        Case, accents and the original spacing are lost. Ids that the tokenizer made of a text come back as they are, if
        none of them is `[UNK]` or another special token.

        Args:
            ids: integers (T,), (B, T) or ragged (B, None).

        Returns:
            A string tensor () or (B,).

        Raises:
            TypeError: for anything but integers.
            ValueError: for another rank, or, outside of graphs, an id that no piece has.
        """
        import tensorflow as tf

        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.ragged.constant(ids, tf.int64) if isinstance(ids, list) else tf.convert_to_tensor(ids)
        if not ids.dtype.is_integer:
            raise TypeError(f"ids must be integers. Received: {ids.dtype.name}")
        if ids.shape.rank == 1:
            return self.detokenize(ids[None])[0]
        if ids.shape.rank != 2:
            raise ValueError(f"ids must be of one text, (T,), or of several, (B, T). Received: rank {ids.shape.rank}")
        ids = tf.cast(ids if isinstance(ids, tf.RaggedTensor) else tf.RaggedTensor.from_tensor(ids), tf.int64)
        if tf.executing_eagerly():
            wrong = tf.boolean_mask(ids.values, (ids.values < 0) | (ids.values >= len(self.vocabulary)))
            if len(wrong):
                raise ValueError(f"ids must be in [0, {len(self.vocabulary)}). Received: {wrong[0].numpy()}")
        layout = [self._ids[token] for token in ("[PAD]", "[CLS]", "[SEP]") if token in self._ids]
        kept = tf.reduce_all(ids.values[:, None] != tf.constant(layout, tf.int64), axis=-1)
        ids = tf.ragged.boolean_mask(ids, ids.with_values(kept))
        return tidy(tf.strings.reduce_join(tf.ragged.map_flat_values(tf.gather, self.vocabulary, ids), axis=-1, separator=" "))

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": list(self.vocabulary),
            "lowercase": self.lowercase,
            "special_tokens_in_text": self.special_tokens_in_text,
            "additional_special_tokens": list(self.additional_special_tokens),
        }
