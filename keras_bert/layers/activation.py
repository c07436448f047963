"""The activations that `BertConfig.hidden_act` names."""

from keras import ops


def _gelu(x):
    return ops.gelu(x, approximate=False)


def _gelu_new(x):
    return ops.gelu(x, approximate=True)


_ACTIVATIONS = {"gelu": _gelu, "gelu_new": _gelu_new, "relu": ops.relu}


def activation(name: str):
    """The function behind a value of `BertConfig.hidden_act`."""
    if name not in _ACTIVATIONS:
        raise ValueError(f"hidden_act must be one of {', '.join(_ACTIVATIONS)}. Received: hidden_act={name!r}")
    return _ACTIVATIONS[name]
