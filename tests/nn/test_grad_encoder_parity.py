"""Losses and gradients of trainable encoders, compared with transformers and sentence-transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tokkit.nn as nn
from extras import extra
from nn.test_grad_encoder import IDS, LABELS, MASKED, STARTS, TYPES, learner
from tokkit.nn.grad import MaskedLM, Parameters, SentencePairs, Tape, TextClassifier
from tokkit.nn.grad.sentence_pairs import ranking_loss
from tokkit.pipeline.families import BERT, EncoderSpec

torch = extra("torch")
transformers = extra("transformers")
pytestmark = pytest.mark.parity
HEADS = {
    "dense": "classifier_pooler.dense", "out": "classifier", "head.dense": "cls.predictions.transform.dense",
    "head.norm": "cls.predictions.transform.LayerNorm",
}  # fmt: skip


def made(of: str, parameters: Parameters) -> tuple[Any, dict[str, Any]]:
    """Return a model of transformers with our weights, and its parameters by our names."""
    about = transformers.BertConfig(
        hidden_size=16, num_attention_heads=4, num_hidden_layers=2, intermediate_size=24, vocab_size=12,
        max_position_embeddings=9, type_vocab_size=2, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        num_labels=3,
    )  # fmt: skip
    model = getattr(transformers, of)(about)
    theirs = dict(model.named_parameters())
    layers = nn.TransformerConfig(dim=16, n_heads=4, n_layers=2, hidden_dim=24)
    spec = EncoderSpec(family=BERT, config=layers, vocab_size=12, positions=9, types=2, pad=0, embedding_dim=layers.dim)
    names = {}
    for name in parameters:
        stem, _, part = name.rpartition(".")
        full = {"dense": "bert.pooler.dense", "out": "classifier", "head": "cls.predictions"}.get(stem)
        full = full or HEADS.get(stem)
        names[name] = f"{full}.{part}" if full else spec.family.prefix * (of != "BertModel") + spec.name(name)
    with torch.no_grad():
        for ours, name in names.items():
            theirs[name].copy_(torch.from_numpy(np.array(parameters[ours])))
    return model, {ours: theirs[name] for ours, name in names.items()}


def padded() -> tuple[Any, Any, Any]:
    """Return ids, types and the attention mask of the packed texts."""
    ids, types, mask = (np.zeros((4, 5), dtype=np.int64) for _ in range(3))
    for i in range(4):
        n = STARTS[i + 1] - STARTS[i]
        ids[i, :n], types[i, :n], mask[i, :n] = IDS[STARTS[i] :][:n], TYPES[STARTS[i] :][:n], 1
    return torch.from_numpy(ids), torch.from_numpy(types), torch.from_numpy(mask)


def assert_equal(model: Any, loss: float, theirs: dict[str, Any], wanted: Any) -> None:
    """Compare a loss and all gradients, to 1e-4 of each weight's greatest."""
    wanted.backward()
    assert loss == pytest.approx(wanted.item(), rel=1e-5)
    for name, tensor in theirs.items():
        grad, other = model.parameters.grads[name], tensor.grad.numpy()
        # A bias of keys changes no weight of attention: its gradient is what rounding leaves.
        assert np.abs(grad - other).max() <= 1e-4 * max(np.abs(other).max(), 1e-3), name


def test_masked_models_learn_as_berts() -> None:
    model = learner(MaskedLM)
    other, theirs = made("BertForMaskedLM", model.parameters)
    ids, labels = (torch.from_numpy(part) for part in MASKED)
    assert_equal(model, model.forward_backward(*MASKED), theirs, other(input_ids=ids, labels=labels).loss)


def test_classifiers_learn_as_berts() -> None:
    model = learner(TextClassifier, n_labels=3)
    other, theirs = made("BertForSequenceClassification", model.parameters)
    ids, types, mask = padded()
    loss = other(input_ids=ids, token_type_ids=types, attention_mask=mask, labels=torch.tensor(LABELS)).loss
    assert_equal(model, model.forward_backward(IDS, STARTS, LABELS, TYPES), theirs, loss)


@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_pairs_learn_as_with_the_loss_of_sentence_transformers(columns: int, pooling: str) -> None:
    losses = extra("sentence_transformers.sentence_transformer.losses")
    model = learner(SentencePairs, pooling=pooling)
    other, theirs = made("BertModel", model.parameters)
    ids, types, mask = padded()
    states = other(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
    weights = mask[..., None].float()
    vectors = (states * weights).sum(1) / weights.sum(1) if pooling == "mean" else states[:, 0]
    loss = losses.MultipleNegativesRankingLoss(model=None)
    wanted = loss.compute_loss_from_embeddings(list(vectors.split(4 // columns)), None)
    assert_equal(model, model.forward_backward(IDS, STARTS, TYPES, columns=columns), theirs, wanted)


def test_the_loss_of_rankings_and_its_gradient_are_those_of_torch() -> None:
    vectors = np.random.default_rng(0).normal(size=(24, 7)).astype(np.float32)
    for columns in (2, 3):
        loss, grad = ranking_loss(vectors, columns, 20.0, Tape())
        x = torch.from_numpy(vectors).requires_grad_()
        units = torch.nn.functional.normalize(x, dim=1)
        n = 24 // columns
        wanted = torch.nn.functional.cross_entropy(20 * units[:n] @ units[n:].T, torch.arange(n))
        wanted.backward()
        assert loss == pytest.approx(wanted.item(), rel=1e-5)
        assert np.abs(grad - x.grad.numpy()).max() <= 1e-4 * np.abs(grad).max()
