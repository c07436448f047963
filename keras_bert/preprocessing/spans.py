"""Arithmetic on places in texts, and on the rows of ragged tensors.

Ragged tensors are taken apart here: the operations of `RaggedTensor` check and convert at every step, and a graph of them
takes longer to start than to run.
"""


def rows_of(ragged):
    """int64 (N,): the row of each of the N values of a ragged tensor (B, None)."""
    import tensorflow as tf

    return tf.searchsorted(ragged.row_splits, tf.range(tf.size(ragged.values, tf.int64)), side="right", out_type=tf.int64) - 1


def merged(outer, values):
    """Ragged (B, None, None) → (B, None): `outer` (B, None), each of whose values gives a row of `values` (N, None)."""
    import tensorflow as tf

    return tf.RaggedTensor.from_row_splits(values.values, tf.gather(values.row_splits, outer.row_splits), validate=False)


def look_up(table, rows, places):
    """`table[row][place]`.

    Args:
        table: ragged int64 (B, None): for each byte of a text, its place in another text.
        rows, places: int64 (N,).
    """
    import tensorflow as tf

    return tf.gather(table.values, tf.gather(table.row_splits, rows) + places)


def next_place(texts, table, rows, places):
    """The smallest place in `table[row]` that is at least `place`; each row of the table ends with its text's length."""
    import tensorflow as tf

    start = _starts(texts)
    shift = tf.gather(start, rows)
    ascending = table.values + tf.gather(start, rows_of(table))
    return tf.gather(ascending, tf.searchsorted(ascending, places + shift)) - shift


def to_characters(texts, starts, ends):
    """Spans in bytes → spans in characters, whole ones, in UTF-8 texts (B,): ragged int64 (B, None)."""
    import tensorflow as tf

    _, characters = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="replace")
    start = _starts(texts)
    ascending = characters.values + tf.gather(start, rows_of(characters))
    rows = rows_of(starts)
    shift, first = tf.gather(start, rows), tf.gather(characters.row_splits, rows)
    starts = starts.with_values(tf.searchsorted(ascending, starts.values + shift, side="right", out_type=tf.int64) - 1 - first)
    return starts, ends.with_values(tf.searchsorted(ascending, ends.values + shift, out_type=tf.int64) - first)


def _starts(texts):
    """int64 (B,): where each text would start if all stood in one, a byte apart."""
    import tensorflow as tf

    return tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64) + 1, exclusive=True)
