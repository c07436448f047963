"""Agreement with the original code and with transformers on models with random weights."""

import keras
import numpy as np
import pytest

from keras_bert.models import BertBackbone, BertPretrainer

TOLERANCE = {"rtol": 0, "atol": 2e-5}


def encoder_inputs(expected):
    return {key: expected[key] for key in ("token_ids", "segment_ids", "padding_mask")}


def outputs(model, inputs):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, model(inputs, training=False))


def log_softmax(logits):
    return keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))


@pytest.fixture
def google(shared):
    pytest.importorskip("tensorflow")
    return shared / "golden" / "google_tiny", dict(np.load(shared / "golden" / "google_tiny" / "expected.npz"))


def test_encoder_agrees_with_the_original_code(google):
    directory, expected = google
    encoded = outputs(BertBackbone.from_preset(directory, output_hidden_states=True), encoder_inputs(expected))
    np.testing.assert_allclose(encoded["hidden_states"][0], expected["embedding_output"], **TOLERANCE)
    np.testing.assert_allclose(encoded["hidden_states"][1], expected["layer_0"], **TOLERANCE)
    np.testing.assert_allclose(encoded["sequence_output"], expected["sequence_output"], **TOLERANCE)
    np.testing.assert_allclose(encoded["pooled_output"], expected["pooled_output"], **TOLERANCE)


def test_heads_and_losses_agree_with_the_original_code(google):
    directory, expected = google
    model = BertPretrainer.from_preset(directory)
    inputs = {**encoder_inputs(expected), "mask_positions": expected["mask_positions"]}
    logits = outputs(model, inputs)
    mlm = log_softmax(logits["mlm_logits"])
    np.testing.assert_allclose(mlm.reshape(-1, mlm.shape[-1]), expected["mlm_log_probs"], **TOLERANCE)
    np.testing.assert_allclose(log_softmax(logits["nsp_logits"]), expected["nsp_log_probs"], **TOLERANCE)
    targets = {
        "mask_ids": expected["mask_labels"],
        "mask_weights": expected["mask_weights"],
        "next_sentence_labels": expected["nsp_labels"],
    }
    model.compile()
    losses = model.evaluate(inputs, targets, batch_size=len(expected["token_ids"]), verbose=0, return_dict=True)
    np.testing.assert_allclose(losses["mlm_loss"], expected["mlm_loss"], **TOLERANCE)
    np.testing.assert_allclose(losses["nsp_loss"], expected["nsp_loss"], **TOLERANCE)
    np.testing.assert_allclose(losses["loss"], expected["mlm_loss"] + expected["nsp_loss"], rtol=0, atol=4e-5)


def test_pretraining_model_agrees_with_transformers(shared):
    directory = shared / "golden" / "hf_tiny" / "pretraining"
    expected = np.load(directory / "expected.npz")
    batch, length = expected["token_ids"].shape
    everywhere = np.tile(np.arange(length, dtype="int32"), (batch, 1))
    logits = outputs(BertPretrainer.from_preset(directory), {**encoder_inputs(expected), "mask_positions": everywhere})
    np.testing.assert_allclose(logits["mlm_logits"], expected["prediction_logits"], **TOLERANCE)
    np.testing.assert_allclose(logits["nsp_logits"], expected["seq_relationship_logits"], **TOLERANCE)
    encoded = outputs(BertBackbone.from_preset(directory, output_hidden_states=True), encoder_inputs(expected))
    np.testing.assert_allclose(encoded["hidden_states"][0], expected["hidden_0"], **TOLERANCE)
    np.testing.assert_allclose(encoded["sequence_output"], expected["hidden_last"], **TOLERANCE)


def test_encoder_with_tanh_gelu_and_its_own_epsilon_agrees_with_transformers(shared):
    directory = shared / "golden" / "hf_tiny" / "encoder_gelu_new"
    expected = np.load(directory / "expected.npz")
    encoded = outputs(BertBackbone.from_preset(directory), encoder_inputs(expected))
    np.testing.assert_allclose(encoded["sequence_output"], expected["sequence_output"], **TOLERANCE)
    np.testing.assert_allclose(encoded["pooled_output"], expected["pooled_output"], **TOLERANCE)
