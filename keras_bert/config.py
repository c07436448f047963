"""`BertConfig`: every hyper-parameter of the encoder, and the table of sizes."""

import dataclasses
import json
import math
import os

ACTIVATIONS = ("gelu", "gelu_new", "relu")

# Layers and width of the published sizes (Turc et al., 2019, section 2; Devlin et al., 2018, section 3).
SIZES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Hyper-parameters of a BERT encoder, under the keys of the original `bert_config.json`.

    Args:
        vocab_size: number of word pieces, V.
        hidden_size: width of the encoder, D.
        num_hidden_layers: number of encoder layers, L.
        num_attention_heads: attention heads, N; divides `hidden_size`.
        intermediate_size: width of the feed-forward layer, F; `4 * hidden_size` by default.
        hidden_act: `"gelu_new"` (the tanh form, which the original code computes under the name
            "gelu"), `"gelu"` (the exact, erf form) or `"relu"`.
        hidden_dropout_prob: dropout rate after embeddings, attention and feed-forward, in [0, 1).
        attention_probs_dropout_prob: dropout rate of the attention probabilities, in [0, 1).
        max_position_embeddings: longest sequence, in tokens.
        type_vocab_size: number of segments.
        initializer_range: standard deviation of the truncated normal that weights start from.
        layer_norm_eps: epsilon of every layer normalisation.

    Raises:
        ValueError: when a value is out of its range; the message names it.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int | None = None
    hidden_act: str = "gelu_new"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12

    def __post_init__(self):
        if self.intermediate_size is None and isinstance(self.hidden_size, int):
            object.__setattr__(self, "intermediate_size", 4 * self.hidden_size)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "hidden_act":
                if value not in ACTIVATIONS:
                    raise ValueError(f"hidden_act must be one of {', '.join(ACTIVATIONS)}. Received: hidden_act={value!r}")
            elif field.type is float:
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                    raise ValueError(f"{field.name} must be a finite number. Received: {field.name}={value!r}")
                object.__setattr__(self, field.name, float(value))
            elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{field.name} must be a positive integer. Received: {field.name}={value!r}")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1). Received: {name}={getattr(self, name)}")
        for name in ("initializer_range", "layer_norm_eps"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive. Received: {name}={getattr(self, name)}")
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                "num_attention_heads must divide hidden_size. "
                f"Received: hidden_size={self.hidden_size}, num_attention_heads={self.num_attention_heads}"
            )

    @classmethod
    def of_size(cls, size: str, **overrides) -> "BertConfig":
        """The configuration of a named size (`"tiny"` … `"large"`), heads 64 wide, with `overrides` applied."""
        if size not in SIZES:
            raise ValueError(f"size must be one of {', '.join(SIZES)}. Received: size={size!r}")
        layers, width = SIZES[size]
        shape = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": width // 64}
        return cls(**{**shape, **overrides})

    @classmethod
    def tiny(cls, **overrides) -> "BertConfig":
        """2 layers, 128 wide."""
        return cls.of_size("tiny", **overrides)

    @classmethod
    def mini(cls, **overrides) -> "BertConfig":
        """4 layers, 256 wide."""
        return cls.of_size("mini", **overrides)

    @classmethod
    def small(cls, **overrides) -> "BertConfig":
        """4 layers, 512 wide."""
        return cls.of_size("small", **overrides)

    @classmethod
    def medium(cls, **overrides) -> "BertConfig":
        """8 layers, 512 wide."""
        return cls.of_size("medium", **overrides)

    @classmethod
    def base(cls, **overrides) -> "BertConfig":
        """12 layers, 768 wide."""
        return cls.of_size("base", **overrides)

    @classmethod
    def large(cls, **overrides) -> "BertConfig":
        """24 layers, 1024 wide."""
        return cls.of_size("large", **overrides)

    def to_dict(self) -> dict:
        """All keys and values, ready for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict) -> "BertConfig":
        """The inverse of `to_dict`; an unknown key raises `ValueError`."""
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"Unknown configuration keys: {', '.join(unknown)}. Known keys: {', '.join(sorted(known))}")
        return cls(**values)

    def to_json(self, path: str | os.PathLike | None = None) -> str:
        """The configuration as JSON text, also written to `path` when one is given."""
        text = json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    @classmethod
    def from_json(cls, path: str | os.PathLike) -> "BertConfig":
        """Reads a file that `to_json` wrote."""
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        if not isinstance(values, dict):
            raise ValueError(f"{path} must hold a JSON object. Received: {type(values).__name__}")
        return cls.from_dict(values)
