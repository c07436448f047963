"""The masked language model, which fills in `[MASK]`."""

from collections.abc import Iterable

import keras
import numpy as np

from keras_bert.models.backbone import BertBackbone
from keras_bert.models.weights import load_preset, preset_tokenizer, save_preset
from keras_bert.preprocessing.wordpiece_tokenizer import WordPieceTokenizer
from keras_bert.presets import read_preset

_BATCH = 32


@keras.saving.register_keras_serializable("keras_bert")
class BertMaskedLM(keras.Model):
    """BERT with its masked-LM head (Devlin et al., 2018, section 3.1, task 1).

    Args:
        config_or_backbone: a `BertConfig`, or a `BertBackbone` to put the head on. A new backbone has no pooler.
        preprocessor: a `WordPieceTokenizer`, which `fill_mask` needs.
        dtype: Keras dtype policy of a new backbone and of the head.

    Call arguments:
        inputs: a dictionary of int32 arrays: those of `BertBackbone`, and `mask_positions` (B, P).

    Returns:
        float32 logits (B, P, V).
    """

    def __init__(self, config_or_backbone, preprocessor=None, dtype=None, name=None, **kwargs):
        backbone = config_or_backbone
        if not isinstance(backbone, BertBackbone):
            backbone = BertBackbone(backbone, pooler=False, dtype=dtype)
        config = backbone.config
        if preprocessor is not None and not isinstance(preprocessor, WordPieceTokenizer):
            raise TypeError(f"preprocessor must be a WordPieceTokenizer or None. Received: preprocessor={preprocessor!r}")
        if preprocessor is not None and preprocessor.vocabulary_size() > config.vocab_size:
            raise ValueError(
                f"The tokenizer's vocabulary must fit vocab_size={config.vocab_size}. "
                f"Received: {preprocessor.vocabulary_size()} pieces. Build the model with this vocab_size or more."
            )

        # === Layers ===
        mlm_head = backbone.masked_lm_head()

        # === Functional Model ===
        inputs = {**backbone.input, "mask_positions": keras.Input((None,), dtype="int32", name="mask_positions")}
        outputs = mlm_head(backbone(backbone.input)["sequence_output"], inputs["mask_positions"])
        super().__init__(inputs=inputs, outputs=outputs, name=name, **kwargs)

        # === Config ===
        self.backbone = backbone
        self.mlm_head = mlm_head
        self.preprocessor = preprocessor

    @classmethod
    def from_preset(cls, directory, dtype=None) -> "BertMaskedLM":
        """A model from a directory of any layout that `keras_bert.presets` reads.

        Without a masked-LM head there, the head is newly initialised and a warning says so.
        """
        preset = read_preset(directory)
        model = cls(preset.config, preset_tokenizer(preset, special_tokens_in_text=True), dtype=dtype)
        load_preset(model, preset, directory)
        return model

    def save_to_preset(self, directory) -> None:
        """Writes a directory that `from_preset` and transformers' `BertForMaskedLM` read; an earlier one is replaced."""
        save_preset(directory, self, self.backbone.config, self.preprocessor, "BertForMaskedLM")

    def fill_mask(self, text, top_k=5):
        """The most probable tokens in the place of each `[MASK]`.

        Args:
            text: a string with one or more `[MASK]`, or a list of such strings. `[CLS]` and `[SEP]` are added around it.
            top_k: how many tokens per `[MASK]`.

        Returns:
            For a string, a list with an entry per `[MASK]`: a list of `{"token": str, "score": float}`, the most
            probable first; the score is the token's probability. For a list of strings, a list of these.

        Raises:
            ValueError: without a tokenizer, for a text without `[MASK]`, or one longer than `max_position_embeddings`.
        """
        if isinstance(text, str):
            return self.fill_mask([text], top_k)[0]
        if not isinstance(text, Iterable):
            raise TypeError(f"text must be a string or a list of strings. Received: text={text!r}")
        texts = list(text)
        for item in texts:
            if not isinstance(item, str):
                raise TypeError(f"text must be a string or a list of strings. Received: {item!r} among them.")
        tokenizer = self._mask_tokenizer()
        if not isinstance(top_k, int) or not 1 <= top_k <= tokenizer.vocabulary_size():
            raise ValueError(f"top_k must be an integer from 1 to {tokenizer.vocabulary_size()}. Received: top_k={top_k!r}")
        if not texts:
            return []
        rows = self._rows(texts, tokenizer)
        filled = []
        for start in range(0, len(rows), _BATCH):
            filled += self._fill(rows[start : start + _BATCH], tokenizer, top_k)
        return filled

    def _mask_tokenizer(self):
        """The preprocessor, or one like it, that keeps special tokens."""
        tokenizer = self.preprocessor
        if tokenizer is None:
            raise ValueError("fill_mask needs a tokenizer. Received: preprocessor=None; pass a WordPieceTokenizer as preprocessor.")
        absent = [token for token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]") if token not in tokenizer.special_tokens]
        if absent:
            raise ValueError(f"fill_mask needs [PAD], [CLS], [SEP], [MASK] in the vocabulary. Received: one without {', '.join(absent)}")
        if tokenizer.special_tokens_in_text:
            return tokenizer
        if getattr(self, "_own_tokenizer", None) is None:
            self._own_tokenizer = WordPieceTokenizer.from_config({**tokenizer.get_config(), "special_tokens_in_text": True})
        return self._own_tokenizer

    def _rows(self, texts, tokenizer):
        """Token ids per text, `[CLS]` and `[SEP]` around them."""
        first, last, mask = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[MASK]"))
        longest = self.backbone.config.max_position_embeddings
        rows = [[first, *ids, last] for ids in tokenizer(texts).to_list()]
        for text, row in zip(texts, rows, strict=True):
            if mask not in row:
                raise ValueError(f"Every text must contain [MASK]. Received: text={_shortened(text)}")
            if len(row) > longest:
                raise ValueError(
                    f"A text may have at most {longest - 2} tokens (max_position_embeddings less [CLS] and [SEP]). "
                    f"Received: {len(row) - 2} tokens in text={_shortened(text)}. Shorten it."
                )
        return rows

    def _fill(self, rows, tokenizer, top_k):
        mask = tokenizer.token_to_id("[MASK]")
        places = [[position for position, id in enumerate(row) if id == mask] for row in rows]
        length, width = max(map(len, rows)), max(map(len, places))
        token_ids = np.full((len(rows), length), tokenizer.token_to_id("[PAD]"), "int32")
        padding_mask = np.zeros((len(rows), length), "int32")
        positions = np.zeros((len(rows), width), "int32")
        for i, (row, place) in enumerate(zip(rows, places, strict=True)):
            token_ids[i, : len(row)] = row
            padding_mask[i, : len(row)] = 1
            positions[i, : len(place)] = place
        inputs = {
            "token_ids": token_ids,
            "segment_ids": np.zeros_like(token_ids),
            "padding_mask": padding_mask,
            "mask_positions": positions,
        }
        probabilities = keras.ops.convert_to_numpy(keras.ops.softmax(self(inputs, training=False)))  # (B, P, V)
        # The table may have more rows than the vocabulary has pieces.
        named = probabilities[:, :, : tokenizer.vocabulary_size()]
        best = np.argsort(-named, axis=-1, kind="stable")[:, :, :top_k]
        return [
            [[{"token": tokenizer.id_to_token(int(id)), "score": float(named[i, j, id])} for id in best[i, j]] for j in range(len(place))]
            for i, place in enumerate(places)
        ]

    def get_config(self):
        return {
            "config_or_backbone": keras.saving.serialize_keras_object(self.backbone),
            "preprocessor": keras.saving.serialize_keras_object(self.preprocessor),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config):
        parts = {key: keras.saving.deserialize_keras_object(config[key]) for key in ("config_or_backbone", "preprocessor")}
        return cls(**{**config, **parts})


def _shortened(text):
    return repr(text if len(text) <= 80 else text[:77] + "...")
