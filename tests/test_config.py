import dataclasses
import json

import pytest

from keras_bert.config import SIZES, BertConfig
from keras_bert.models import BertBackbone

PARAMETERS = {"tiny": 4_385_920, "small": 28_763_648, "medium": 41_373_184, "base": 109_482_240, "large": 335_141_888}


def trunk_parameters(c: BertConfig) -> int:
    """Devlin et al., 2018: tables, encoder layers and pooler, counted by hand."""
    d, f = c.hidden_size, c.intermediate_size
    embeddings = (c.vocab_size + c.max_position_embeddings + c.type_vocab_size) * d + 2 * d
    layer = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 2 * 2 * d
    return embeddings + c.num_hidden_layers * layer + d * d + d


@pytest.mark.parametrize("size", PARAMETERS)
def test_sizes_have_the_published_number_of_parameters(size):
    assert trunk_parameters(BertConfig.of_size(size)) == PARAMETERS[size]


@pytest.mark.parametrize("size", ["tiny", "small", *(pytest.param(s, marks=pytest.mark.slow) for s in ("medium", "base", "large"))])
def test_a_built_backbone_has_the_published_number_of_parameters(size):
    assert BertBackbone(BertConfig.of_size(size)).count_params() == PARAMETERS[size]


def test_a_backbone_of_any_shape_has_the_counted_parameters():
    config = BertConfig(
        vocab_size=53,
        hidden_size=22,
        num_hidden_layers=3,
        num_attention_heads=11,
        intermediate_size=29,
        max_position_embeddings=31,
        type_vocab_size=5,
    )
    assert BertBackbone(config).count_params() == trunk_parameters(config)


def test_every_size_has_heads_of_64_and_a_method_of_its_name():
    for size, (layers, width) in SIZES.items():
        config = getattr(BertConfig, size)()
        assert config == BertConfig.of_size(size)
        assert (config.num_hidden_layers, config.hidden_size) == (layers, width)
        assert config.hidden_size // config.num_attention_heads == 64
        assert config.intermediate_size == 4 * width


def test_overrides_apply_to_a_size():
    config = BertConfig.tiny(vocab_size=101, hidden_act="gelu")
    assert (config.vocab_size, config.hidden_act, config.hidden_size) == (101, "gelu", 128)


@pytest.mark.parametrize(
    "values",
    [
        {"vocab_size": 0},
        {"vocab_size": 1.5},
        {"num_hidden_layers": True},
        {"hidden_size": "768"},
        {"intermediate_size": -1},
        {"hidden_size": 50, "num_attention_heads": 12},
        {"hidden_act": "swish"},
        {"hidden_dropout_prob": 1.0},
        {"attention_probs_dropout_prob": -0.1},
        {"attention_probs_dropout_prob": float("nan")},
        {"initializer_range": 0},
        {"layer_norm_eps": float("inf")},
        {"layer_norm_eps": "1e-12"},
    ],
    ids=str,
)
def test_a_bad_value_is_named(values):
    name = next(iter(values))
    with pytest.raises(ValueError, match=rf"{name}.*Received: {name}="):
        BertConfig(**values)


def test_an_unknown_size_is_named():
    with pytest.raises(ValueError, match="one of tiny, .*Received: size='huge'"):
        BertConfig.of_size("huge")


def test_json_round_trip(tmp_path):
    config = BertConfig.mini(vocab_size=97, hidden_act="relu", layer_norm_eps=1e-5)
    text = config.to_json(tmp_path / "config.json")
    assert (tmp_path / "config.json").read_text(encoding="utf-8") == text
    assert json.loads(text) == config.to_dict()
    assert BertConfig.from_json(tmp_path / "config.json") == config
    assert BertConfig.from_dict(config.to_dict()) == config


def test_an_unknown_key_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="Unknown configuration keys: hiden_size, typo"):
        BertConfig.from_dict({"typo": 1, "hiden_size": 2})
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(ValueError, match="must hold a JSON object. Received: list"):
        BertConfig.from_json(tmp_path / "config.json")


def test_a_configuration_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BertConfig().vocab_size = 7
