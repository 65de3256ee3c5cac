"""Gradients of classifiers on random encoders of every family are those of torch's autograd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from pipeline.test_classifiers_of_any_encoder import CASES, DECODERS, saved
from tokkit import pipeline
from tokkit.files.safetensors import read_safetensors
from tokkit.nn.grad import TextClassifier
from tokkit.pipeline.classifier_training import _SavedHead
from tokkit.pipeline.learning_encoders import SavedEncoder

pytestmark = pytest.mark.parity
TEXTS = ["the cat sat on the mat", "money", "a bank of the river, the money, a cat on the mat of the bank", "a mat"]
LABELS = [1, 0, 2, 1]


def gradients_of_torch(folder: Path, ids: list[np.ndarray], scratch: Path) -> tuple[float, dict[str, np.ndarray]]:
    """The loss and all gradients of the classifier in a folder, by the names in its files: each text alone."""
    transformers, torch = extra("transformers"), extra("torch")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, attn_implementation="eager", problem_type="single_label_classification"
    ).eval()
    loss = sum(
        model(input_ids=torch.from_numpy(row)[None], labels=torch.tensor([label])).loss / len(ids)
        for row, label in zip(ids, LABELS, strict=True)
    )
    loss.backward()
    for parameter in model.parameters():
        parameter.data = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    model.save_pretrained(scratch)
    found = read_safetensors(scratch / "model.safetensors")
    return float(loss.detach()), {name: np.array(tensor.float32()) for name, tensor in found.items()}


@pytest.mark.parametrize("name", CASES | DECODERS)
def test_gradients_are_those_of_torch(tmp_path: Path, name: str) -> None:
    base = saved(name, tmp_path / "base")
    rows = [(text, "abc"[label]) for text, label in zip(TEXTS * 2, LABELS * 2, strict=True)]
    options = pipeline.FineTuneOptions(batch=4, steps=1, lr=1e-30)
    pipeline.train_classifier(rows, tmp_path / "m", model=base, options=options)
    encoder = SavedEncoder.read(tmp_path / "m", vectors=False)
    head = _SavedHead(encoder, ["a", "b", "c"])
    weights = encoder.weights() | head.start(0)
    model = TextClassifier(encoder.config, weights, head=head.trained, padding_id=head.pad)
    packed = encoder.packed(TEXTS, None)
    ids = [packed.ids[a:b] for a, b in zip(packed.starts[:-1], packed.starts[1:], strict=True)]
    loss = model.forward_backward(packed.ids, packed.starts, LABELS)
    wanted, theirs = gradients_of_torch(tmp_path / "m", ids, tmp_path / "scratch")
    assert loss == pytest.approx(wanted, rel=1e-4)
    ours = named(model.parameters.grads, encoder, head)
    assert ours.keys() == theirs.keys()
    for tensor, grad in theirs.items():
        # A bias of keys changes no weight of attention: its gradient is what rounding leaves.
        assert np.abs(ours[tensor] - grad).max() <= 1e-4 * max(np.abs(grad).max(), 1e-2), tensor


def named(grads: Any, encoder: SavedEncoder, head: _SavedHead) -> dict[str, np.ndarray]:
    """Gradients by the names in the file: as weights are written, but what is added to those is not."""
    heads = ("dense", "head_norm", "out")
    of_encoder = {name: grad for name, grad in grads.items() if name.partition(".")[0] not in heads}
    made = encoder.named(of_encoder)
    added = encoder.named({name: np.zeros_like(grad) for name, grad in of_encoder.items()})
    return {name: grad - added[name] for name, grad in made.items()} | {
        head._file_name(name): grad for name, grad in grads.items() if name not in of_encoder
    }
