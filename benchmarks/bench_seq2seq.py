"""Times encoding a text and decoding its target, of T5-small's shape, beside transformers and ctranslate2.

Weights are random: speed alone is measured, after the logits of tokkit and transformers at fp32 have been compared. A
round times each contender once, in turns; `--clock cpu` is for a busy machine. `×` is the median over the rounds of the
seconds of the best rival whose weights are as wide by ours: above 1 we are faster. Rivals that are not installed are
left out. llama.cpp has its own tools for T5, and is not among them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import tokkit
from benchmarks import harness, model_rivals
from benchmarks.model_rivals import Contender, CTranslate2, Ours, Torch
from tokkit import nn

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


def contenders(folder: Path) -> dict[str, Contender]:
    """Return all that are installed, by name."""
    wanted = [("tokkit", partial(Ours, folder, precision)) for precision in PRECISIONS]
    wanted += [("transformers", partial(Torch, folder, precision)) for precision in ("fp32", "bf16")]
    wanted += [("ctranslate2", partial(CTranslate2, folder, precision)) for precision in ("fp32", "int8")]
    made = {}
    for library, make in wanted:
        if absent := model_rivals.missing(library):
            print(f"# {library} is left out: {absent} not installed", flush=True)
        else:
            one = make()
            made[one.name] = one
    return made


def compare(folder: Path, rounds: int, only: list[str] | None) -> None:
    """Compare logits, then time all contenders in turns and print a table."""
    those = contenders(folder)
    ids = np.random.default_rng(0).integers(0, 256, LONG)
    ours, theirs = (those[f"{library} fp32"].logits(ids[:64]) for library in ("tokkit", "transformers"))
    if np.abs(ours - theirs).max() > 1e-4 * max(1.0, np.abs(theirs).max()):
        sys.exit(f"logits differ by {np.abs(ours - theirs).max():.2g}")
    those = {name: made for name, made in those.items() if not only or name in only}
    work = {
        f"encode {LONG}": (LONG, lambda c: c.generating(ids, 1, 1, 1)),
        "greedy": (STEPS, lambda c: c.generating(ids[:SOURCE], 1, STEPS, 1)),
        f"{BEAMS} beams": (STEPS, lambda c: c.generating(ids[:SOURCE], 1, STEPS, BEAMS)),
        f"batch of {BATCH}": (BATCH * STEPS, lambda c: c.generating(ids[:SOURCE], BATCH, STEPS, 1)),
    }
    harness.section(f"T5-small, targets of {STEPS} tokens for texts of {SOURCE}: tokens/s")
    harness.show("", model_rivals.measure(those, work, rounds))


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where the model is kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", help="time this contender; may be given several times")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    if model_rivals.missing("transformers"):
        sys.exit("transformers, which makes the model, is not installed: pip install '.[parity]'")
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        folder = Path(args.folder or aside)
        if not (folder / "config.json").exists():
            write_model(folder)
        compare(folder, args.rounds, args.only)


if __name__ == "__main__":
    main()
