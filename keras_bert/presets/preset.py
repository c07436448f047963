"""What a model directory holds, whatever its layout."""

import dataclasses

import numpy as np

from keras_bert.config import BertConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """A model as data: no Keras, no files.

    Args:
        config: the encoder's hyper-parameters.
        arrays: float32 arrays by the path of the variable they belong to, such as
            `"encoder_layer_0/attention/query_key_value/kernel"`.
        vocabulary: the word pieces in the order of their ids; None when the directory has no vocabulary.
        lowercase: whether text is lower-cased and stripped of accents.
        additional_special_tokens: pieces of the vocabulary that are special tokens besides BERT's own.

    Raises:
        ValueError: when the vocabulary has more pieces than the configuration has embeddings.
    """

    config: BertConfig
    arrays: dict[str, np.ndarray]
    vocabulary: list[str] | None = None
    lowercase: bool = True
    additional_special_tokens: tuple[str, ...] = ()

    def __post_init__(self):
        if self.vocabulary is not None and len(self.vocabulary) > self.config.vocab_size:
            raise ValueError(
                f"The vocabulary must have at most vocab_size={self.config.vocab_size} pieces. "
                f"Received: {len(self.vocabulary)} pieces. Use the vocabulary that the model was trained with."
            )
