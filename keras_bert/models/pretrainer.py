"""The model that is pretrained: masked-LM and next-sentence heads on the backbone."""

import keras
from keras import ops

from keras_bert.models.backbone import BertBackbone
from keras_bert.models.weights import load_preset, preset_tokenizer, save_preset
from keras_bert.presets import read_preset


@keras.saving.register_keras_serializable("keras_bert")
class BertPretrainer(keras.Model):
    """BERT with its two pretraining objectives (Devlin et al., 2018, section 3.1).

    It brings its own loss and metrics: `compile(optimizer)` is enough. The loss is the mean cross-entropy over the
    masked positions plus that of the next-sentence label (0 = B follows A, 1 = B is from another document).

    Args:
        config_or_backbone: a `BertConfig`, or a `BertBackbone` to put the heads on.
        next_sentence: whether there is a next-sentence head; needs a backbone with a pooler.
        preprocessor: a `WordPieceTokenizer`, saved along by `save_to_preset`.
        dropout_seed: integer that, with the step, determines the dropout masks; random by default.
        dtype: Keras dtype policy of a new backbone and of the heads.

    Call arguments:
        inputs: a dictionary of int32 arrays: those of `BertBackbone`, and `mask_positions` (B, P).

    Returns:
        A dictionary of float32 logits: `"mlm_logits"` (B, P, V) and, with `next_sentence`, `"nsp_logits"` (B, 2).

    `fit` and `evaluate` take datasets of `(inputs, targets)`; `targets` holds `mask_ids` int32 (B, P), `mask_weights`
    float32 (B, P; 1 = predicted, 0 = filler) and, with `next_sentence`, `next_sentence_labels` int32 (B,).
    They report `loss`, `mlm_loss`, `mlm_accuracy`, `nsp_loss` and `nsp_accuracy`; losses in nats.
    """

    def __init__(self, config_or_backbone, next_sentence=True, preprocessor=None, dropout_seed=None, dtype=None, name=None, **kwargs):
        backbone = config_or_backbone
        if not isinstance(backbone, BertBackbone):
            backbone = BertBackbone(backbone, next_sentence, dropout_seed=dropout_seed, dtype=dtype)
        if next_sentence and backbone.pooler is None:
            raise ValueError(
                "The next-sentence head needs a backbone with a pooler. Build it with pooler=True, or pass next_sentence=False."
            )
        config = backbone.config

        # === Layers ===
        mlm_head = backbone.masked_lm_head()
        nsp_head = None
        if next_sentence:
            initializer = keras.initializers.TruncatedNormal(stddev=config.initializer_range)
            nsp_head = keras.layers.Dense(2, kernel_initializer=initializer, dtype="float32", name="nsp_head")

        # === Functional Model ===
        inputs = {**backbone.input, "mask_positions": keras.Input((None,), dtype="int32", name="mask_positions")}
        encoded = backbone(backbone.input)
        outputs = {"mlm_logits": mlm_head(encoded["sequence_output"], inputs["mask_positions"])}
        if next_sentence:
            outputs["nsp_logits"] = nsp_head(encoded["pooled_output"])
        super().__init__(inputs=inputs, outputs=outputs, name=name, **kwargs)

        # === Config ===
        self.backbone = backbone
        self.mlm_head = mlm_head
        self.nsp_head = nsp_head
        self.next_sentence = next_sentence
        self.preprocessor = preprocessor

        # === Metrics ===
        tasks = ("mlm", "nsp") if next_sentence else ("mlm",)
        self.task_metrics = {task: (keras.metrics.Mean(f"{task}_loss"), keras.metrics.Mean(f"{task}_accuracy")) for task in tasks}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The sum of the objectives' losses; updates the metrics on the way."""
        loss = self._task_loss("mlm", y["mask_ids"], y_pred["mlm_logits"], y["mask_weights"])
        if self.next_sentence:
            labels = y["next_sentence_labels"]
            loss = loss + self._task_loss("nsp", labels, y_pred["nsp_logits"], ops.ones(ops.shape(labels), "float32"))
        return loss

    def _task_loss(self, task, labels, logits, weights):
        weights = ops.convert_to_tensor(weights, "float32")
        losses = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        right = ops.cast(ops.equal(ops.argmax(logits, -1), ops.cast(labels, "int32")), "float32")
        loss_metric, accuracy_metric = self.task_metrics[task]
        loss_metric.update_state(losses, weights)
        accuracy_metric.update_state(right, weights)
        return ops.sum(losses * weights) / ops.maximum(ops.sum(weights), 1)

    @classmethod
    def from_preset(cls, directory, next_sentence=None, dropout_seed=None, dtype=None) -> "BertPretrainer":
        """A model from a directory of any layout that `keras_bert.presets` reads, to pretrain further.

        `next_sentence` is by default whether the directory has that head. A head that it lacks is newly initialised,
        and a warning says so.
        """
        preset = read_preset(directory)
        if next_sentence is None:
            next_sentence = "nsp_head/kernel" in preset.arrays
        model = cls(preset.config, next_sentence, preset_tokenizer(preset), dropout_seed=dropout_seed, dtype=dtype)
        load_preset(model, preset, directory)
        return model

    def save_to_preset(self, directory) -> None:
        """Writes the encoder, the heads and, unless None, the preprocessor, as transformers does; an earlier model is replaced."""
        architecture = "BertForPreTraining" if self.next_sentence else "BertForMaskedLM"
        save_preset(directory, self, self.backbone.config, self.preprocessor, architecture)

    def get_config(self):
        return {
            "config_or_backbone": keras.saving.serialize_keras_object(self.backbone),
            "next_sentence": self.next_sentence,
            "preprocessor": keras.saving.serialize_keras_object(self.preprocessor),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config):
        parts = {key: keras.saving.deserialize_keras_object(config[key]) for key in ("config_or_backbone", "preprocessor")}
        return cls(**{**config, **parts})
