"""What trains a model that is passed in: optimizer and schedule, checkpoints, callbacks."""

from keras_bert.training.optimizer import BertAdamW, LinearWarmupDecay

__all__ = ["BertAdamW", "LinearWarmupDecay"]
