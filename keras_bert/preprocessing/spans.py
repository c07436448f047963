"""Arithmetic on places in texts: ragged (B, None) byte offsets, looked up and converted all at once."""


def look_up(table, places, last: bool = False):
    """Row by row, `table[place]`; for `last`, `table[place - 1] + 1`: where a span that ends at `place` ends in the table.

    Args:
        table: ragged int64 (B, None): for each byte of a text, its place in another text.
        places: ragged int64 (B, None).
        last: whether the places are the ends of spans.
    """
    import tensorflow as tf

    index = tf.gather(table.row_starts(), places.value_rowids()) + places.values
    return places.with_values(tf.gather(table.values, index - 1) + 1 if last else tf.gather(table.values, index))


def next_place(texts, table, places):
    """Row by row, the smallest place in the table that is at least `places`; each row of the table ends with the text's length."""
    import tensorflow as tf

    start = _starts(texts)
    ascending = table.values + tf.gather(start, table.value_rowids())
    shift = tf.gather(start, places.value_rowids())
    return places.with_values(tf.gather(ascending, tf.searchsorted(ascending, places.values + shift)) - shift)


def to_characters(texts, places):
    """Places in bytes → places in characters, in UTF-8 texts (B,)."""
    import tensorflow as tf

    _, characters = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="replace")
    start = _starts(texts)
    ascending = characters.values + tf.gather(start, characters.value_rowids())
    rows = places.value_rowids()
    index = tf.searchsorted(ascending, places.values + tf.gather(start, rows), out_type=tf.int64)
    return places.with_values(index - tf.gather(characters.row_starts(), rows))


def _starts(texts):
    """int64 (B,): where each text would start if all stood in one, a byte apart."""
    import tensorflow as tf

    return tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64) + 1, exclusive=True)
