"""Random models of every family, saved by transformers, give its hidden states and logits."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from tokkit.files.sharded import read_model
from tokkit.nn.encoder import TextEncoder
from tokkit.nn.masked_head import MaskedHead
from tokkit.pipeline import families
from tokkit.pipeline.weights import Weights

SMALL = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 100}
LARGER = {"hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 512}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("Bert", SMALL | {"hidden_act": "gelu_new"}),
    ("Bert", LARGER | {"type_vocab_size": 1}),
    ("Roberta", SMALL | {"hidden_act": "relu", "type_vocab_size": 1}),
    ("Roberta", LARGER | {"layer_norm_eps": 1e-5, "pad_token_id": 1}),
    ("XLMRoberta", SMALL | {"pad_token_id": 3}),
    ("XLMRoberta", LARGER | {"hidden_act": "silu"}),
    ("Camembert", SMALL),
    ("Camembert", LARGER),
    ("DistilBert", {"dim": 48, "n_layers": 2, "n_heads": 4, "hidden_dim": 100, "sinusoidal_pos_embds": True}),
    ("DistilBert", {"dim": 128, "n_layers": 3, "n_heads": 2, "hidden_dim": 512, "activation": "relu"}),
    ("MPNet", SMALL),
    ("MPNet", LARGER),
    ("Electra", SMALL | {"embedding_size": 48, "hidden_act": "relu"}),
    ("Electra", LARGER | {"embedding_size": 40}),
]
LENGTHS = (7, 150, 1, 33)


def saved(tmp_path: Path, name: str, options: dict[str, Any], **how: Any) -> tuple[Path, Any]:
    """A random model, its norms and biases random too, and its folder."""
    transformers = extra("transformers")
    torch = extra("torch")
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(vocab_size=120, max_position_embeddings=170, **options)
    config.initializer_range = 0.08
    model = getattr(transformers, f"{name}ForMaskedLM")(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 0.3, 0.2)
    model.save_pretrained(tmp_path, **how)
    return tmp_path, model


def ours(folder: Path, precision: str = "float32") -> tuple[TextEncoder, MaskedHead]:
    spec = families.read(json.loads((folder / "config.json").read_text()), precision)
    weights = Weights(read_model(folder), spec, "here")
    encoder = TextEncoder(spec.config, weights, position_offset=spec.position_offset, padding_idx=spec.padding_idx)
    parts = weights.head()
    matrix = parts.pop("decoder.weight", encoder.embeddings.words)
    return encoder, MaskedHead(parts, matrix, activation=spec.head_activation, eps=spec.config.eps)


def drawn() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    ids = [np.random.default_rng(n).integers(4, 120, n) for n in LENGTHS]
    return ids, np.concatenate(ids), np.concatenate([[0], np.cumsum(LENGTHS)])


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{i % 2}" for i, (name, _) in enumerate(CASES)])
def test_states_and_logits_equal_those_of_transformers(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    folder, theirs = saved(tmp_path, name, options)
    import torch

    each, ids, starts = drawn()
    encoder, head = ours(folder)
    states = np.empty((encoder.config.n_layers, len(ids), encoder.config.dim), dtype=np.float32)
    got = encoder(ids, starts, states=states)
    logits = head(got)
    pad = getattr(theirs.config, "pad_token_id", 0) or 0
    padded = np.full((len(each), max(LENGTHS)), pad)
    mask = np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]
    padded[mask] = ids
    with torch.no_grad():
        batch = theirs(torch.from_numpy(padded), torch.from_numpy(mask.astype(int)), output_hidden_states=True)
    for i, part in enumerate(each):
        rows = slice(starts[i], starts[i + 1])
        with torch.no_grad():
            alone = theirs(torch.from_numpy(part)[None], output_hidden_states=True)
        for layer, expected in enumerate(alone.hidden_states[1:]):
            assert np.abs(states[layer, rows] - expected[0].numpy()).max() < 1e-4
        assert np.abs(logits[rows] - alone.logits[0].numpy()).max() < 1e-4
        # Packed is what padding gives, and one at a time what a batch gives.
        assert np.abs(got[rows] - batch.hidden_states[-1][i, : len(part)].numpy()).max() < 1e-4
        assert np.abs(encoder(part, [0, len(part)]) - got[rows]).max() < 1e-5


@pytest.mark.parametrize(("precision", "least", "mean"), [("bfloat16", 0.9999, 0.9999), ("int8", 0.995, 0.998)])
@pytest.mark.parametrize(("name", "options"), CASES[1::2], ids=[name for name, _ in CASES[1::2]])
def test_lower_precision_stays_near(
    tmp_path: Path, name: str, options: dict[str, Any], precision: str, least: float, mean: float
) -> None:
    folder, _ = saved(tmp_path, name, options)
    _, ids, starts = drawn()
    (full, full_head), (low, low_head) = ours(folder), ours(folder, precision)
    x, y = full(ids, starts), low(ids, starts)
    long = np.diff(starts) >= 3
    pooled = [np.stack([s[a:b].mean(0) for a, b in itertools.pairwise(starts)]) for s in (x, y)]
    found = cosines(*pooled)[long]
    assert found.min() >= least
    assert found.mean() >= mean
    assert cosines(full_head(x), low_head(y)).mean() >= mean


@pytest.mark.parametrize("how", [{"max_shard_size": "100KB"}, {"dtype": "float16"}, {"dtype": "bfloat16"}], ids=str)
def test_shards_and_halves_are_read(tmp_path: Path, how: dict[str, Any]) -> None:
    folder, theirs = saved(tmp_path, "Bert", LARGER)
    import torch

    if "dtype" in how:
        theirs = theirs.to(getattr(torch, how["dtype"]))
    (folder / "model.safetensors").unlink()
    theirs.save_pretrained(folder, **{key: value for key, value in how.items() if key != "dtype"})
    assert (folder / "model.safetensors.index.json").exists() == ("max_shard_size" in how)
    _, ids, starts = drawn()
    encoder, head = ours(folder)
    got = encoder(ids, starts)
    with torch.no_grad():  # in float32, the numbers being those of the file
        expected = theirs.float()(torch.from_numpy(ids[:7])[None], output_hidden_states=True)
    assert np.abs(got[:7] - expected.hidden_states[-1][0].numpy()).max() < 1e-4
    assert np.abs(head(got[:7]) - expected.logits[0].numpy()).max() < 1e-4


def test_a_tokenizer_of_bytes_and_masks_go_with_roberta(tmp_path: Path) -> None:
    """The whole way: a saved folder with vocab.json and merges.txt, padding ids in the text, masks filled."""
    transformers = extra("transformers")
    from tokenizers import ByteLevelBPETokenizer

    from tokkit import pipeline

    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(["a b c d e"], vocab_size=120, special_tokens=special)
    torch, folder = extra("torch"), tmp_path
    config = transformers.RobertaConfig(vocab_size=trained.get_vocab_size(), max_position_embeddings=40, **SMALL)
    model = transformers.RobertaForMaskedLM(config).eval()
    model.save_pretrained(folder)
    trained.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    loaded = pipeline.load(folder)
    for text in ("hello <mask> world", "x <pad> y <mask>", "naïve <mask>, 東京"):
        fed = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            expected = model(**fed).logits[0].numpy()
        assert np.abs(loaded.masked_logits(text) - expected).max() < 1e-4
        best = expected[(fed["input_ids"][0] == tokenizer.mask_token_id).numpy()].argsort()[:, ::-1][:, :3]
        guesses = loaded.fill_mask(text, k=3)
        assert [[guess.id for guess in row] for row in guesses] == best.tolist()
        assert all(0 < guess.probability <= 1 for row in guesses for guess in row)
    assert loaded.max_length == 38
