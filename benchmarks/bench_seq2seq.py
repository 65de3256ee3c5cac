"""Times encoding a text and decoding its target, of T5-small's shape, beside transformers and ctranslate2.

Weights are random: speed alone is measured, after the logits of tokkit and transformers at fp32 have been compared. A
round times each contender once, in turns; `--clock cpu` is for a busy machine. `÷` is the median over the rounds of the
contender's seconds by ours at one precision: above 1 we are faster. Rivals that are not installed are left out.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from benchmarks import harness
from tokkit import nn, pipeline

SOURCE, LONG, STEPS, BATCH, BEAMS = 64, 512, 64, 8, 4
SHAPE = {"vocab_size": 32128, "decoder_start_token_id": 0}
PRECISIONS = ("fp32", "bf16", "int8")


def write_model(folder: Path) -> None:
    """Save a model with random weights, and a tokenizer with a token for each row, as ctranslate2 wants it."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, T5Config

    torch.manual_seed(0)
    config = T5Config(**SHAPE)
    AutoModelForSeq2SeqLM.from_config(config).save_pretrained(folder)
    special = {"<pad>": 256, "</s>": 257, "<unk>": 258}
    names = special | {f"<{i}>": i for i in range(259, config.vocab_size)}
    tok = tokkit.train(iter(["a few words"]), vocab_size=256).with_special_tokens(names)
    tok.save(folder / "tokenizer.json", overwrite=True)
    stated = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "eos_token": "</s>",
              "unk_token": "<unk>"}  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(stated))


class Ours:
    """tokkit at one precision."""

    def __init__(self, folder: Path, precision: str) -> None:
        self.model: Any = pipeline.load(folder, precision=precision)
        self.model.eos_ids = frozenset()  # so that all generate as much

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits of the first token of a target."""
        return self.model.logits(ids, last=True)

    def generate(self, ids: np.ndarray, n: int, new: int, beams: int) -> None:
        """Generate targets of n texts."""
        options: dict[str, Any] = {} if beams == 1 else {"num_beams": beams}
        self.model.generate_all([ids] * n, max_new_tokens=new, **options)


class Torch:
    """transformers, on torch."""

    def __init__(self, folder: Path, precision: str) -> None:
        import torch
        from transformers import AutoModelForSeq2SeqLM

        self.torch = torch
        torch.set_num_threads(1)
        dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=dtype).eval()

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits of the first token of a target."""
        with self.torch.no_grad():
            start = self.torch.tensor([[SHAPE["decoder_start_token_id"]]])
            return self.model(self.torch.tensor(ids)[None], decoder_input_ids=start).logits[0, -1].float().numpy()

    def generate(self, ids: np.ndarray, n: int, new: int, beams: int) -> None:
        """Generate targets of n texts."""
        with self.torch.no_grad():
            self.model.generate(
                self.torch.tensor(np.stack([ids] * n)), max_new_tokens=new, min_new_tokens=new, num_beams=beams,
                do_sample=False,
            )  # fmt: skip


class CTranslate2:
    """ctranslate2's Translator."""

    def __init__(self, folder: Path, precision: str) -> None:
        import ctranslate2

        out = folder / f"ct2-{precision}"
        if not out.exists():
            ctranslate2.converters.TransformersConverter(str(folder)).convert(
                str(out), quantization={"fp32": "float32", "int8": "int8"}[precision]
            )
        self.model = ctranslate2.Translator(str(out), device="cpu", intra_threads=1, inter_threads=1)

    def generate(self, ids: np.ndarray, n: int, new: int, beams: int) -> None:
        """Generate targets of n texts."""
        self.model.translate_batch(
            [["a"] * len(ids)] * n, max_decoding_length=new, min_decoding_length=new, beam_size=beams
        )


def contenders(folder: Path) -> dict[str, Any]:
    """Return all that are installed, by name."""
    made: dict[str, Any] = {f"tokkit {precision}": Ours(folder, precision) for precision in PRECISIONS}
    for precision in ("fp32", "bf16"):
        made[f"transformers {precision}"] = Torch(folder, precision)
    if importlib.util.find_spec("ctranslate2") is not None:
        for precision in ("fp32", "int8"):
            made[f"ctranslate2 {precision}"] = CTranslate2(folder, precision)
    return made


def compare(folder: Path, rounds: int, only: list[str] | None) -> None:
    """Compare logits, then time all contenders in turns and print a table."""
    those = contenders(folder)
    ids = np.random.default_rng(0).integers(0, 256, LONG)
    ours, theirs = those["tokkit fp32"].logits(ids[:64]), those["transformers fp32"].logits(ids[:64])
    if np.abs(ours - theirs).max() > 1e-4 * max(1.0, np.abs(theirs).max()):
        sys.exit(f"logits differ by {np.abs(ours - theirs).max():.2g}")
    those = {name: made for name, made in those.items() if not only or name in only}
    work = {  # tokens that are counted; length of the texts, their number, new tokens, beams
        f"encode {LONG}": (LONG, (LONG, 1, 1, 1)),
        "greedy": (STEPS, (SOURCE, 1, STEPS, 1)),
        f"{BEAMS} beams": (STEPS, (SOURCE, 1, STEPS, BEAMS)),
        f"batch of {BATCH}": (BATCH * STEPS, (SOURCE, BATCH, STEPS, 1)),
    }
    rows = []
    for what, (tokens, (length, n, new, beams)) in work.items():
        seconds: dict[str, list[float]] = {contender: [] for contender in those}
        for _ in range(rounds):
            for contender, made in those.items():
                run = made.generate
                seconds[contender].append(
                    harness.timed(lambda _, run=run: run(ids[:length], n, new, beams), [0])[0]  # noqa: B023
                )
        for contender, taken in seconds.items():
            row: dict[str, object] = {"work": what, "contender": contender}
            row["tokens/s"] = f"{tokens / statistics.median(taken):,.1f}"
            for precision in PRECISIONS:
                if f"tokkit {precision}" in seconds:
                    row[f"÷ {precision}"] = f"{harness.ratio(seconds[f'tokkit {precision}'], taken):.2f}"
            rows.append(row)
    harness.section(f"T5-small, targets of {STEPS} tokens for texts of {SOURCE}: tokens/s")
    print(harness.table(rows))


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where the model is kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", help="time this contender; may be given several times")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        folder = Path(args.folder or aside)
        if not (folder / "config.json").exists():
            write_model(folder)
        compare(folder, args.rounds, args.only)


if __name__ == "__main__":
    main()
