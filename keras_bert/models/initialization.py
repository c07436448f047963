"""Where the weights of a model start that is pretrained from nothing.

Small models at common rates sit for thousands of steps on the loss of guessing token frequencies: their masked tokens
can only be predicted from their neighbours, and attention has yet to find out which positions are neighbours. Both facts
are known beforehand, so training starts from them. The architecture stays BERT's.
"""

import keras
import numpy as np

_REFERENCE_WIDTH = 768  # at which 0.02, the paper's standard deviation, is used


def initializer_range_for(hidden_size: int) -> float:
    """The paper's standard deviation for its base size, scaled so that a projection's gain is the same at any width."""
    return 0.02 * (_REFERENCE_WIDTH / hidden_size) ** 0.5


def initialize_for_pretraining(pretrainer, token_counts: np.ndarray) -> None:
    """Sets the output bias and the neighbour attention of a fresh `BertPretrainer`; see the two functions below."""
    initialize_output_bias(pretrainer, token_counts)
    initialize_neighbour_attention(pretrainer.backbone)


def initialize_output_bias(pretrainer, token_counts: np.ndarray) -> None:
    """Sets the output bias to the log of the token frequencies, so that the first loss is the unigram loss.

    Args:
        pretrainer: a `BertPretrainer`.
        token_counts: how often each piece occurs in the training text, (V,); one is added to each.
    """
    counts = np.asarray(token_counts, "float64") + 1
    pretrainer.mlm_head.bias.assign(np.log(counts / counts.sum()).astype("float32"))


def initialize_neighbour_attention(backbone, sharpness: float = 1.5, position_scale: float = 2.0) -> None:
    """Lets the heads of the first layer start out looking at the neighbours at distance -1, +1, -2, +2, …

    The position table, learned as ever, starts as sinusoids (Vaswani et al., 2017, section 3.5) of wavelengths from 2.5
    to 500 positions. Turning each pair of sines by its frequency times an offset shifts the position by that offset; a
    head whose query and key differ by this rotation attends to the token that far away. The queries and keys of the first
    layer get such a rotation on top of their random start.

    Args:
        backbone: a `BertBackbone`.
        sharpness: gain of the queries and of the keys.
        position_scale: standard deviation of the position table in units of the token table's.
    """
    config = backbone.config
    width, heads = config.hidden_size, config.num_attention_heads
    head_size = width // heads
    frequencies = np.geomspace(2.5, 0.0125, width // 2)
    angles = np.arange(config.max_position_embeddings)[:, None] * frequencies
    table = np.zeros((config.max_position_embeddings, width))
    table[:, 0 : 2 * len(frequencies) : 2] = np.sin(angles)
    table[:, 1 : 2 * len(frequencies) : 2] = np.cos(angles)
    table *= 2**0.5 * position_scale * config.initializer_range
    backbone.embeddings.position_embeddings.assign(table.astype("float32"))

    variable = backbone.encoder_layers[0].attention.query_key_value.kernel
    kernel = np.array(keras.ops.convert_to_numpy(variable))
    query, key = kernel[:, :width], kernel[:, width : 2 * width]  # views
    stride = max(1, heads // 2)  # the heads share the higher half of the frequencies, which tell neighbours apart best
    for head in range(heads):
        offset = (head // 2 + 1) * (-1 if head % 2 == 0 else 1)
        for i in range(head_size // 2):
            pair = head % stride + i * stride
            place = slice(2 * pair, 2 * pair + 2)
            columns = slice(head * head_size + 2 * i, head * head_size + 2 * i + 2)
            cos, sin = np.cos(frequencies[pair] * offset), np.sin(frequencies[pair] * offset)
            query[place, columns] += sharpness * np.eye(2)
            key[place, columns] += sharpness * np.array([[cos, sin], [-sin, cos]])
    variable.assign(kernel)
