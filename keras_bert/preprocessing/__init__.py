"""Text layers of TensorFlow operations: they run eagerly, in `tf.data`, in `tf.function` and in a SavedModel."""

from keras_bert.preprocessing.dynamic_masking import DynamicMasking
from keras_bert.preprocessing.segment_packer import SegmentPacker
from keras_bert.preprocessing.wordpiece_tokenizer import WordPieceTokenizer

__all__ = ["DynamicMasking", "SegmentPacker", "WordPieceTokenizer"]
