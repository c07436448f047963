"""The base class of all text layers, and what they take for text."""

import reprlib

import keras


class TextLayer(keras.layers.Layer):
    """A Keras layer of TensorFlow operations that takes strings, ragged tensors and Python lists on every backend.

    Other Keras layers turn their inputs into tensors of the backend first, which JAX and PyTorch refuse for strings.
    A text layer has no weights and works in `tf.data` pipelines and in SavedModels, whatever backend trains the model.
    """

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": "int32", "autocast": False, **kwargs})
        # Read by `keras.layers.Layer.__call__`: leave the arguments as they are, and let them be Python objects.
        self._convert_input_args = False
        self._allow_non_tensor_positional_args = True
        self.built = True


def on_flat_texts(inputs, function):
    """Applies a function of strings (N,), which returns ragged tensors (N, None), to strings of any rank."""
    import tensorflow as tf

    if isinstance(inputs, tf.RaggedTensor):
        inputs = inputs.with_row_splits_dtype(tf.int64)
        return tuple(inputs.with_values(values) for values in on_flat_texts(inputs.values, function))
    texts = as_texts(inputs)
    if isinstance(texts, tf.RaggedTensor):
        return on_flat_texts(texts, function)
    if texts.shape.rank is None:
        raise ValueError("The rank of the strings must be known. Set it, for example by tf.ensure_shape(texts, [None]).")
    if texts.shape.rank == 0:
        return tuple(values.flat_values for values in function(texts[None]))
    results = function(tf.reshape(texts, [-1]))
    for axis in range(texts.shape.rank - 1, 0, -1):
        length = tf.shape(texts, tf.int64)[axis]
        results = tuple(tf.RaggedTensor.from_uniform_row_length(values, length) for values in results)
    return results


def as_texts(inputs):
    """Strings as a tensor, or, where rows are not of one length, as a ragged tensor."""
    import tensorflow as tf

    if isinstance(inputs, tf.RaggedTensor):
        return inputs
    try:
        return tf.convert_to_tensor(inputs, dtype=tf.string)
    except (TypeError, ValueError) as error:
        reason = str(error)
    try:
        return tf.ragged.constant(inputs, dtype=tf.string)
    except (TypeError, ValueError):
        raise TypeError(
            "Expected strings: one, a list of them, lists of lists, or a tensor; no None, NaN or half surrogate pairs among them. "
            f"Received: {reprlib.repr(inputs)} ({reason.splitlines()[0]})"
        ) from None
