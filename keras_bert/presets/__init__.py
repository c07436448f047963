"""Model directories on disk ↔ configuration, named arrays and text settings."""

from keras_bert.presets.google import read_google
from keras_bert.presets.huggingface import read_huggingface, write_huggingface
from keras_bert.presets.preset import Preset
from keras_bert.presets.reading import read_preset

__all__ = ["Preset", "read_google", "read_huggingface", "read_preset", "write_huggingface"]
