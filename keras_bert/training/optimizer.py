"""BERT's optimizer and learning-rate schedule (Devlin et al., 2018, appendix A.2)."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_bert")
class LinearWarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly to `peak` over `warmup_steps`, then falls linearly to zero at `total_steps`.

    Args:
        peak: highest learning rate.
        warmup_steps: steps of the rise; 0 starts at the peak.
        total_steps: steps in all; more than `warmup_steps`.
    """

    def __init__(self, peak: float, warmup_steps: int, total_steps: int):
        if not 0 <= warmup_steps < total_steps:
            raise ValueError(f"warmup_steps must be in [0, total_steps). Received: warmup_steps={warmup_steps}, total_steps={total_steps}")
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step):
        step = ops.cast(step, "float32")
        rise = (step + 1) / (self.warmup_steps + 1)  # the first step counts: a rate of zero would waste it
        fall = (self.total_steps - step) / (self.total_steps - self.warmup_steps)
        return self.peak * ops.maximum(0.0, ops.minimum(rise, fall))

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "total_steps": self.total_steps}


@keras.saving.register_keras_serializable("keras_bert")
class BertAdamW(keras.optimizers.AdamW):
    """AdamW as BERT uses it: no decay on biases and layer normalisations, gradients clipped by their global norm.

    Unlike the original code it corrects the bias of the moments (Mosbach et al., 2020, section 5.1).

    The norm before clipping stays readable as `gradient_norm`, a float32 variable.

    Args:
        learning_rate: number or schedule.
        weight_decay, beta_1, beta_2, epsilon: as in `keras.optimizers.AdamW`.
        clipnorm: largest global norm of the gradients.
    """

    def __init__(self, learning_rate, weight_decay=0.01, beta_1=0.9, beta_2=0.999, epsilon=1e-6, clipnorm=1.0, name="bert_adamw", **kwargs):
        kwargs.pop("global_clipnorm", None)
        super().__init__(
            learning_rate,
            weight_decay=weight_decay,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            global_clipnorm=clipnorm,
            name=name,
            **kwargs,
        )
        # Matched anywhere in a variable's path: every bias, and the gamma and beta of every layer normalisation.
        self.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])

    def build(self, variables):
        if not self.built:
            self.gradient_norm = self.add_variable((), dtype="float32", name="gradient_norm")
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        result = super().apply(grads, trainable_variables)
        squares = [ops.sum(ops.square(ops.cast(g, "float32"))) for g in grads if g is not None]
        self.gradient_norm.assign(ops.sqrt(sum(squares)))
        return result

    def get_config(self):
        config = super().get_config()
        config["clipnorm"] = config.pop("global_clipnorm")
        return config
