"""The base class of all text layers."""

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
