import numpy as np

from keras_bert.training.guesses import as_markdown, guesses

VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "play", "##ing", "|"]


def sure_of(token):
    """A model that gives `token` three quarters and the others the rest."""

    def model(batch, training):
        p = np.full(len(VOCABULARY), 0.25 / (len(VOCABULARY) - 1))
        p[VOCABULARY.index(token)] = 0.75
        return {"mlm_logits": np.log(np.tile(p, (*batch["mask_positions"].shape, 1)))}

    return model


def test_the_middle_masked_token_is_shown_in_its_context_with_the_best_guesses():
    ids = ["[CLS]", "the", "[MASK]", "play", "##ing", "[MASK]", "[SEP]", "[PAD]"]
    batch = {
        "token_ids": np.array([[VOCABULARY.index(token) for token in ids]]),
        "padding_mask": np.array([[1] * 7 + [0]]),
        "mask_positions": np.array([[2, 5, 0]]),
    }
    (row,) = guesses(sure_of("|"), batch, np.array([[5, 4, 0]]), VOCABULARY, top_k=1)
    assert row["text"] == "[CLS] the [MASK] playing **[MASK]** [SEP]"
    assert row["token"] == "the"
    assert row["guesses"][0][0] == "|" and abs(row["guesses"][0][1] - 0.75) < 1e-6
    assert as_markdown([row]).splitlines()[-1] == r"| [CLS] the [MASK] playing **[MASK]** [SEP] | the | \| 75% |"
