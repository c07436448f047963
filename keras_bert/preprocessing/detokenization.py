"""Text from word pieces."""

from keras_bert.preprocessing.normalization import CJK

# In turn: what to look for, and what to put in its place. None of them joins two tokens into one, as punctuation and
# CJK characters always stand alone.
_RULES = (
    (r"(\S) ##", r"\1"),
    (r" ([.,:;!?%)\]}…”»]+)", r"\1"),
    (r"([(\[{“«$]) ", r"\1"),
    (r"(\d\.) (\d)", r"\1\2"),
    (r'" ([^"]*[^" ]) "', r'"\1"'),
    (r"(\pL) (['’]) (s|t|d|m|re|ve|ll)\b", r"\1\2\3"),
    (f"([{CJK}]) ([{CJK}])", r"\1\2"),
    (f"([{CJK}]) ([{CJK}])", r"\1\2"),  # the other half, as matches do not overlap
)


def tidy(pieces):
    """Pieces joined by spaces, as strings (B,) → text, as strings (B,)."""
    import tensorflow as tf

    for pattern, replacement in _RULES:
        pieces = tf.strings.regex_replace(pieces, pattern, replacement)
    return pieces
