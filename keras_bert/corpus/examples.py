"""Pretraining examples as a pure function of (seed, index).

Index i is example `i % n` of epoch `i // n`. Within an epoch a pseudo-random permutation visits every place of the
corpus once; all other choices are hashed from the seed, the epoch and the place. So any step's batch costs the same
time, two workers never disagree, and the next epoch draws other pairs, cuts and masks.
"""

import numpy as np

from keras_bert.corpus.token_store import TokenStore

_SHORT = 0.1  # share of examples with a shorter target length, as in create_pretraining_data.py


def _mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64: a bijection of uint64 in which every input bit flips about half of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _nth(key: np.ndarray, n: int) -> np.ndarray:
    """The n-th word of the stream that belongs to `key`."""
    return _mix(key + np.uint64(n * 0x9E3779B97F4A7C15 & (1 << 64) - 1))


class _Draws:
    """Random numbers of a batch of examples, each a hash of its own key and the number of the draw."""

    def __init__(self, seed: int, epoch: np.ndarray, place: np.ndarray):
        key = _mix(np.full(epoch.shape, seed, "int64").view("uint64") + np.uint64(0x9E3779B97F4A7C15))
        for part in (epoch, place):
            key = _mix((key ^ part.astype("uint64")) + np.uint64(0x9E3779B97F4A7C15))
        self.key = key
        self.count = 0

    def bits(self) -> np.ndarray:
        """uint64 (B,)."""
        self.count += 1
        return _nth(self.key, self.count)

    def uniform(self) -> np.ndarray:
        """float64 (B,) in [0, 1)."""
        return (self.bits() >> np.uint64(11)) * 2.0**-53

    def below(self, limit: np.ndarray) -> np.ndarray:
        """int64 (B,) in [0, limit)."""
        return (self.uniform() * limit).astype("int64")

    def heads(self, tosses: np.ndarray) -> np.ndarray:
        """int64 (B,): how many of `tosses` fair coins show heads."""
        result = np.zeros(tosses.shape, "int64")
        # The words come from one draw: how many are needed depends on the other examples of the batch.
        key = self.bits()
        for start in range(0, int(tosses.max(initial=0)), 64):
            used = np.clip(tosses - start, 0, 64).astype("uint64")
            words = np.where(used > 0, _nth(key, start) >> (np.uint64(64) - np.maximum(used, np.uint64(1))), np.uint64(0))
            result += np.bitwise_count(words)
        return result


class Examples:
    """Rows for the encoder, drawn from a token store.

    With `next_sentence` a row is `[CLS] A [SEP] B [SEP]` (Devlin et al., 2018, section 3.1, task 2, as in the original
    create_pretraining_data.py): consecutive sentences of one document, filled to the limit or, in one of ten rows, to a
    shorter random one; A ends at a random sentence border; B is what follows or, in half of the rows and where nothing
    follows, text from another document. What is too long is cut token by token from the longer side, at a random end.

    Without, a row is `[CLS] text [SEP]`, the text contiguous over document borders; the rows of an epoch cut the
    corpus at places that shift from epoch to epoch.

    Args:
        store: where the tokens are.
        length: tokens per row, T.
        next_sentence: whether rows are pairs.
        seed: integer.
        cls_id, sep_id, pad_id: ids of the special tokens.

    Raises:
        ValueError: when the store has too few documents or tokens for such rows.
    """

    def __init__(self, store: TokenStore, length: int, next_sentence: bool, seed: int, cls_id: int, sep_id: int, pad_id: int):
        self.store = store
        self.length = length
        self.next_sentence = next_sentence
        self.seed = seed
        self.ids = cls_id, sep_id, pad_id
        self.room = length - (3 if next_sentence else 2)
        if self.room < 2:
            raise ValueError(f"length must leave room for two tokens beside the special ones. Received: length={length}")
        if not len(store.tokens):
            raise ValueError("The corpus is empty: it holds no tokens.")
        if next_sentence:
            if store.num_documents < 2:
                raise ValueError(
                    "Next-sentence prediction needs at least two documents (a blank line separates them). "
                    f"Received: {store.num_documents}. Without it: --objective mlm"
                )
            starts = np.asarray(store.sentences)[np.asarray(store.documents)]  # first token of each document, and the end
            self._document_starts = starts
            rows = np.maximum(1, np.rint(np.diff(starts) / self.room).astype("int64"))
            self._first_place = np.concatenate([[0], np.cumsum(rows)])
            self.per_epoch = int(self._first_place[-1])
        else:
            self.per_epoch = max(1, (len(store.tokens) - self.room + 1) // self.room)

    def __call__(self, index: np.ndarray) -> dict[str, np.ndarray]:
        """The examples with these indices, int64 (B,).

        Returns:
            `token_ids`, `segment_ids`, `padding_mask` int32 (B, T); `next_sentence_labels` int32 (B,), 0 = B follows A;
            `seeds` int64 (B,), for `DynamicMasking`.
        """
        import tensorflow as tf

        index = np.asarray(index, "int64")
        epoch, step = np.divmod(index, self.per_epoch)
        order = _Draws(self.seed, epoch, np.full_like(epoch, -2))
        # Hashed words: the permutations of small, similar keys resemble each other.
        keys = np.stack([order.bits().view("int64") for _ in range(3)], axis=1)
        with tf.device("CPU"):
            # tf.random.experimental.index_shuffle fails on one seed per index, which the operation behind it takes.
            place = tf.raw_ops.RandomIndexShuffle(index=step, seed=keys, max_index=np.int64(self.per_epoch - 1), rounds=8).numpy()
        draws = _Draws(self.seed, epoch, place)
        seeds = draws.bits().view("int64")
        spans = self._pairs(place, draws) if self.next_sentence else self._rows(epoch, place)
        return {**self._packed(*spans), "seeds": seeds}

    def _rows(self, epoch, place):
        """Contiguous text: (start, length) of A; B is nothing."""
        spare = len(self.store.tokens) - self.per_epoch * self.room
        shift = _Draws(self.seed, epoch, np.full_like(epoch, -1)).below(np.full(epoch.shape, max(0, spare) + 1))
        start = shift + place * self.room
        none = np.zeros_like(start)
        return start, np.minimum(self.room, len(self.store.tokens) - start), none, none, none

    def _pairs(self, place, draws: _Draws):
        """Sentence pairs: (start, length) of A, the same of B, and the label."""
        sentences, documents = self.store.sentences, self.store.documents
        document = np.searchsorted(self._first_place, place, "right") - 1
        first, last = self._document_starts[document], self._document_starts[document + 1]
        rows = self._first_place[document + 1] - self._first_place[document]
        shorter = 2 + draws.below(np.full(place.shape, self.room - 1))
        target = np.where(draws.uniform() < _SHORT, shorter, self.room)

        # Places are spread evenly over the document, shifted in each epoch, and drawn in so that the text fills the row.
        spot = (place - self._first_place[document] + draws.uniform() - 0.5) * (last - first) / rows
        spot = np.clip(spot.astype("int64"), 0, np.maximum(0, last - first - target))
        sentence = np.searchsorted(sentences, first + spot, "right") - 1
        a_start = sentences[sentence]
        end = np.minimum(np.searchsorted(sentences, a_start + target, "left"), documents[document + 1])
        count = end - sentence
        border = sentence + np.where(count > 1, 1 + draws.below(np.maximum(1, count - 1)), count)
        a_length = sentences[border] - a_start

        other = (document + 1 + draws.below(np.full(place.shape, self.store.num_documents - 1))) % self.store.num_documents
        other_sentence = documents[other] + draws.below(documents[other + 1] - documents[other])
        other_start = sentences[other_sentence]
        other_end = np.searchsorted(sentences, other_start + np.maximum(1, target - a_length), "left")
        other_end = np.minimum(other_end, documents[other + 1])

        label = ((count == 1) | (draws.uniform() < 0.5)).astype("int64")
        b_start = np.where(label, other_start, sentences[border])
        b_length = np.where(label, sentences[other_end] - other_start, sentences[end] - sentences[border])

        # Popping tokens from the longer side (from B at a tie) until the pair fits ends with these lengths.
        a_kept = np.minimum(a_length, np.maximum((self.room + 1) // 2, self.room - b_length))
        b_kept = np.minimum(b_length, self.room - a_kept)
        a_start = a_start + draws.heads(a_length - a_kept)
        b_start = b_start + draws.heads(b_length - b_kept)
        return a_start, a_kept, b_start, b_kept, label

    def _packed(self, a_start, a_length, b_start, b_length, label):
        cls_id, sep_id, pad_id = self.ids
        a_start, a_length, b_start, b_length = (x[:, None] for x in (a_start, a_length, b_start, b_length))
        at = np.arange(self.length)[None]
        b_at = a_length + 2
        end = b_at + b_length + (1 if self.next_sentence else 0)
        in_a = (at >= 1) & (at <= a_length)
        in_b = (at >= b_at) & (at < b_at + b_length)
        source = np.where(in_a, a_start + at - 1, np.where(in_b, b_start + at - b_at, 0))
        token_ids = np.where(in_a | in_b, self.store.tokens[source], np.where(at < end, sep_id, pad_id)).astype("int32")
        token_ids[:, 0] = cls_id
        return {
            "token_ids": token_ids,
            "segment_ids": ((at >= b_at) & (at < end)).astype("int32"),
            "padding_mask": (at < end).astype("int32"),
            "next_sentence_labels": label.astype("int32"),
        }


def batches(examples: Examples, masking, batch_size: int, first_step: int, last_step: int):
    """A `tf.data.Dataset` of the batches of steps `first_step` … `last_step - 1`, masked, as `BertPretrainer` takes them.

    Starting at any step takes the same time.

    Args:
        examples: where the rows come from.
        masking: a `DynamicMasking`.
        batch_size: rows per batch, B.
    """
    import tensorflow as tf

    keys = ("token_ids", "segment_ids", "padding_mask", "next_sentence_labels", "seeds")

    def rows(step):
        row = examples(step * batch_size + np.arange(batch_size))
        return [row[key] for key in keys]

    def batch(step):
        row = dict(zip(keys, tf.numpy_function(rows, [step], [tf.int32] * 4 + [tf.int64], stateful=False), strict=True))
        for key in ("token_ids", "segment_ids", "padding_mask"):
            row[key].set_shape([batch_size, examples.length])
        row["next_sentence_labels"].set_shape([batch_size])
        row["seeds"].set_shape([batch_size])
        masked = masking(row["token_ids"], row["seeds"])
        inputs = {
            "token_ids": masked["token_ids"],
            "segment_ids": row["segment_ids"],
            "padding_mask": row["padding_mask"],
            "mask_positions": masked["mask_positions"],
        }
        targets = {"mask_ids": masked["mask_ids"], "mask_weights": masked["mask_weights"]}
        if examples.next_sentence:
            targets["next_sentence_labels"] = row["next_sentence_labels"]
        return inputs, targets

    return tf.data.Dataset.range(first_step, last_step).map(batch, num_parallel_calls=2, deterministic=True).prefetch(4)
