"""The layers of BERT, on `keras.ops` alone."""

from keras_bert.layers.dropout import Dropout, DropoutSeed
from keras_bert.layers.embeddings import BertEmbeddings
from keras_bert.layers.encoder_layer import EncoderLayer
from keras_bert.layers.heads import MaskedLMHead, Pooler
from keras_bert.layers.self_attention import SelfAttention

__all__ = ["BertEmbeddings", "Dropout", "DropoutSeed", "EncoderLayer", "MaskedLMHead", "Pooler", "SelfAttention"]
