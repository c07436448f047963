"""The public models: the backbone and one file per task."""

from keras_bert.models.backbone import BertBackbone
from keras_bert.models.masked_lm import BertMaskedLM
from keras_bert.models.pretrainer import BertPretrainer

__all__ = ["BertBackbone", "BertMaskedLM", "BertPretrainer"]
