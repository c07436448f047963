"""Maps of characters to strings in the format that TensorFlow Text's `FastBertNormalizer` reads.

The format, from TensorFlow Text's `fast_bert_normalizer.h` and `darts_clone_trie_wrapper.h`: a flatbuffer with a trie
from UTF-8 bytes to 31-bit values, and a pool of strings. A value is 2**30 + (place in the pool) * 64 + (bytes in the
pool). The trie is a double array of 32-bit units: a node at place p with offset o has its child for byte b at p ^ o ^ b,
and its value at p ^ o. A node's unit is its offset * 1024 + (256 if it has a value) + its byte; a value's unit has the
highest bit set.
"""

from collections.abc import Iterable, Iterator

import numpy as np

_VALUE = 0  # the key of a node's value among its children; no text has this byte, as NUL is stored apart


def character_map(pairs: Iterable[tuple[str, str]]) -> bytes:
    """A model for `FastBertNormalizer(model_buffer=...)`; characters without a pair stay, ill-formed UTF-8 is dropped.

    Args:
        pairs: characters and what replaces them, at most 63 bytes each.
    """
    import flatbuffers

    pool, places = bytearray(), {}
    root: dict = {}
    nul = 0
    for key, text in [*((c.encode(), text.encode()) for c, text in pairs if c != text), *((b, b"") for b in _ill_formed())]:
        if text not in places:
            places[text] = len(pool)
            pool += text
        value = 2**30 + places[text] * 64 + len(text)
        if key == b"\0":
            nul = value
            continue
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[_VALUE] = value

    builder = flatbuffers.Builder()
    strings = builder.CreateNumpyVector(np.frombuffer(bytes(pool), np.uint8))
    units = builder.CreateNumpyVector(_double_array(root))
    builder.StartObject(4)  # field 0, a flag, is for information only
    builder.PrependUOffsetTRelativeSlot(1, units, 0)
    builder.PrependInt32Slot(2, nul, 0)
    builder.PrependUOffsetTRelativeSlot(3, strings, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _ill_formed() -> Iterator[bytes]:
    """What a UTF-8 decoder replaces by one U+FFFD: stray bytes, and characters that break off."""
    for byte in range(0x80, 0x100):
        yield bytes([byte])
    for lead in range(0xE0, 0xF5):
        first = {0xE0: 0xA0, 0xF0: 0x90}.get(lead, 0x80)
        last = {0xED: 0x9F, 0xF4: 0x8F}.get(lead, 0xBF)
        for second in range(first, last + 1):
            yield bytes([lead, second])
            if lead >= 0xF0:
                for third in range(0x80, 0xC0):
                    yield bytes([lead, second, third])


def _double_array(root: dict) -> np.ndarray:
    """The units of a trie of nested dictionaries {byte: child, _VALUE: value}. Equal subtrees are stored once."""
    nodes: dict[tuple, int] = {}  # a node as (byte, number of the child, or value) pairs → its number

    def number(node: dict) -> int:
        children = tuple(sorted((byte, child if byte == _VALUE else number(child)) for byte, child in node.items()))
        return nodes.setdefault(children, len(nodes))

    top = number(root)
    order = sorted(nodes, key=lambda children: (-len(children), nodes[children]))
    # A node's base is where its children are: byte b at base ^ b. Large nodes come first, at multiples of 64, the number
    # of bytes that can continue a character; then values fill the gaps.
    bases = [0] * len(nodes)
    used = bytearray(256 * len(nodes) + 256)
    used[0] = True  # the root
    lowest: dict[tuple, int] = {}
    for children in order:
        labels = tuple(byte for byte, _ in children)
        base = lowest.get(labels, 0)
        while any(used[base ^ byte] for byte in labels):
            base += 64 if len(labels) > 1 else 1
        bases[nodes[children]] = lowest[labels] = base
        for byte in labels:
            used[base ^ byte] = True

    units = np.zeros(used.rindex(True) + 1, np.uint32)
    valued = {nodes[children] for children in order if children[0][0] == _VALUE}

    def unit(place: int, node: int, byte: int) -> int:
        return (place ^ bases[node]) * 1024 + (256 if node in valued else 0) + byte

    units[0] = unit(0, top, 0)
    for children in order:
        base = bases[nodes[children]]
        for byte, child in children:
            units[base ^ byte] = 2**31 + child if byte == _VALUE else unit(base ^ byte, child, byte)
    return units
