"""The encoder as a functional Keras model."""

import keras

from keras_bert.config import BertConfig
from keras_bert.layers import BertEmbeddings, DropoutSeed, EncoderLayer, MaskedLMHead, Pooler
from keras_bert.models.weights import load_preset, save_preset
from keras_bert.presets import read_preset


@keras.saving.register_keras_serializable("keras_bert")
class BertBackbone(keras.Model):
    """BERT's bidirectional Transformer encoder (Devlin et al., 2018, section 3).

    Args:
        config: a `BertConfig`.
        pooler: whether the model has the tanh projection of `[CLS]` (masked-LM models do without).
        output_hidden_states: whether the outputs also hold every layer's.
        dropout_seed: integer that, with the step, determines the dropout masks; random by default.
        dtype: Keras dtype policy, such as `"mixed_bfloat16"`.

    Call arguments:
        inputs: a dictionary of int32 arrays `token_ids`, `segment_ids`, `padding_mask` (1 = real token), each (B, T).

    Returns:
        A dictionary: `"sequence_output"` (B, T, D); `"pooled_output"` (B, D) if there is a pooler;
        on request `"hidden_states"`, a list of L + 1 tensors (B, T, D), the embeddings first.
    """

    def __init__(self, config, pooler=True, output_hidden_states=False, dropout_seed=None, dtype=None, name=None, **kwargs):
        if isinstance(config, dict):
            config = BertConfig.from_dict(config)
        if not isinstance(config, BertConfig):
            raise TypeError(f"config must be a BertConfig, such as BertConfig.tiny(). Received: {config!r}")
        dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())

        # === Layers ===
        token_embedding = keras.layers.ReversibleEmbedding(
            config.vocab_size,
            config.hidden_size,
            embeddings_initializer=keras.initializers.TruncatedNormal(stddev=config.initializer_range),
            dtype=dtype,
            name="token_embedding",
        )
        seed_layer = DropoutSeed(dropout_seed, name="dropout_seed")
        embeddings = BertEmbeddings(
            config.max_position_embeddings,
            config.type_vocab_size,
            config.hidden_dropout_prob,
            config.layer_norm_eps,
            config.initializer_range,
            dtype=dtype,
            name="embeddings",
        )
        encoder_layers = [
            EncoderLayer(
                config.num_attention_heads,
                config.intermediate_size,
                config.hidden_act,
                config.hidden_dropout_prob,
                config.attention_probs_dropout_prob,
                config.layer_norm_eps,
                config.initializer_range,
                index=i,
                dtype=dtype,
                name=f"encoder_layer_{i}",
            )
            for i in range(config.num_hidden_layers)
        ]
        pooler_layer = Pooler(config.initializer_range, dtype=dtype, name="pooler") if pooler else None

        # === Functional Model ===
        inputs = {key: keras.Input((None,), dtype="int32", name=key) for key in ("token_ids", "segment_ids", "padding_mask")}
        seed = seed_layer(inputs["token_ids"])
        x = embeddings(token_embedding(inputs["token_ids"]), inputs["segment_ids"], seed)
        hidden_states = [x]
        for layer in encoder_layers:
            x = layer(x, inputs["padding_mask"], seed)
            hidden_states.append(x)
        outputs = {"sequence_output": x}
        if pooler_layer is not None:
            outputs["pooled_output"] = pooler_layer(x)
        if output_hidden_states:
            outputs["hidden_states"] = hidden_states
        super().__init__(inputs=inputs, outputs=outputs, name=name, **kwargs)

        # === Config ===
        self.config = config
        self.output_hidden_states = output_hidden_states
        self.backbone_dtype = dtype
        self.token_embedding = token_embedding
        self.dropout_seed = seed_layer
        self.embeddings = embeddings
        self.encoder_layers = encoder_layers
        self.pooler = pooler_layer

    @classmethod
    def from_preset(cls, directory, output_hidden_states=False, dropout_seed=None, dtype=None) -> "BertBackbone":
        """A backbone from a directory of any layout that `keras_bert.presets` reads; with a pooler if there is one."""
        preset = read_preset(directory)
        pooler = "pooler/dense/kernel" in preset.arrays
        model = cls(preset.config, pooler, output_hidden_states, dropout_seed=dropout_seed, dtype=dtype)
        load_preset(model, preset, directory)
        return model

    def save_to_preset(self, directory, tokenizer=None) -> None:
        """Writes a directory that `from_preset` and transformers' `BertModel` read; an earlier one is replaced."""
        save_preset(directory, self, self.config, tokenizer, "BertModel")

    def masked_lm_head(self) -> MaskedLMHead:
        """A fresh masked-LM head that projects with this encoder's token table."""
        return MaskedLMHead(
            self.token_embedding,
            self.config.hidden_act,
            self.config.layer_norm_eps,
            self.config.initializer_range,
            dtype=self.backbone_dtype,
            name="mlm_head",
        )

    def get_config(self):
        return {
            "config": self.config.to_dict(),
            "pooler": self.pooler is not None,
            "output_hidden_states": self.output_hidden_states,
            "dropout_seed": self.dropout_seed.get_config()["seed"],
            "dtype": keras.dtype_policies.serialize(self.backbone_dtype),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)
