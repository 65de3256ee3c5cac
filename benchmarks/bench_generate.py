"""Times reading, decoding and beam search of GPT-2 small and of Llamas, beside transformers, ctranslate2 and llama.cpp.

Weights are random: speed alone is measured, after logits have been compared, of llama.cpp with those of tokkit for the
same file. A round times each contender once, in turns; `--clock cpu` is for a busy machine. `×` is the median over the
rounds of the seconds of the best rival whose weights are as wide by ours: above 1 we are faster. Rivals that are not
installed are left out, and so is whoever's logits are others.

The models' folders are made at the start, or kept in --folder.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from benchmarks import harness, model_rivals
from benchmarks.model_gguf import KINDS
from benchmarks.model_rivals import CACHES, PRECISIONS, Contender, CTranslate2, LlamaCpp, Ours, Torch, Work
from tokkit import nn

PROMPT, SHORT, LONG, STEPS, BATCH, BEAMS = 512, 16, 1000, 24, 8, 4
COMPARED = 64
LLAMA = {"type": "llama", "vocab_size": 32000, "max_position_embeddings": 2048}
SHAPES: dict[str, dict[str, Any]] = {
    "GPT-2 small": {"type": "gpt2", "n_positions": 1100},
    "Llama 125M": LLAMA | {
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 4,
        "intermediate_size": 2048, "tie_word_embeddings": True,
    },
    "Llama 1.1B": LLAMA | {
        "hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
        "intermediate_size": 5632,
    },
}  # fmt: skip
SMALL = ["GPT-2 small", "Llama 125M"]


def write_model(shape: dict[str, Any], folder: Path) -> None:
    """Save a model with random weights, and a tokenizer whose ids it has."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(shape["type"], **{name: value for name, value in shape.items() if name != "type"})
    AutoModelForCausalLM.from_config(config).save_pretrained(folder, max_shard_size="100GB")
    # ctranslate2 wants a token for each row of the table.
    names = {f"<{i}>": i for i in range(256, config.vocab_size)}
    tok = tokkit.train(iter(["a few words"]), vocab_size=256).with_special_tokens(names)
    tok.save(folder / "tokenizer.json", overwrite=True)
    # The classes of the families would add tokens of their own.
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))


def all_contenders(folder: Path) -> dict[str, tuple[str, Callable[[], Contender]]]:
    """Return the library of each contender, and what makes it, by name."""
    found: dict[str, tuple[str, Callable[[], Contender]]] = {}
    for precision in PRECISIONS:
        for cache in CACHES:
            name = f"tokkit {precision}" + (f", {cache} cache" if cache != CACHES[0] else "")
            found[name] = "tokkit", partial(Ours, folder, precision, cache)
    for precision in ("fp32", "bf16"):
        found[f"transformers {precision}"] = "transformers", partial(Torch, folder, precision)
    for precision in ("fp32", "int8"):
        found[f"ctranslate2 {precision}"] = "ctranslate2", partial(CTranslate2, folder, precision)
    for kind in KINDS:
        found[f"llama.cpp {kind}"] = "llama.cpp", partial(LlamaCpp, folder, kind)
        found[f"llama.cpp {kind}, no flash attention"] = "llama.cpp", partial(LlamaCpp, folder, kind, flash=False)
        found[f"llama.cpp {kind}, q8_0 cache"] = "llama.cpp", partial(LlamaCpp, folder, kind, "q8_0")
    return found


def contenders(folder: Path, wanted: list[str]) -> dict[str, Contender]:
    """Make those whose names contain something wanted, or all; say who is left out."""
    made = {}
    for name, (library, make) in all_contenders(folder).items():
        if wanted and not any(one in name for one in wanted):
            continue
        if absent := model_rivals.missing(library):
            print(f"# {name} is left out: {absent} not installed", flush=True)
        else:
            made[name] = make()
    return made


def with_equal_logits(those: dict[str, Contender], folder: Path, ids: np.ndarray) -> dict[str, Contender]:
    """Print how near the logits of each are to those of tokkit, and leave out who is too far.

    Those of a file for llama.cpp are compared with tokkit's for the file, others with tokkit's at fp32, of which 4 bits
    of random weights leave little: the less, the more layers there are.
    """
    ours = Ours(folder, "fp32")
    exact, growth = ours.logits(ids), max(1.0, ours.decoder.config.layers.n_layers / 12) ** 2
    rows, kept = [], {}
    for name, one in those.items():
        wanted, least = exact, {4: 0.9, 8: 0.99, 16: 0.999, 32: 0.999}[one.bits]
        if isinstance(one, LlamaCpp):
            wanted, least = Ours(one.path, None).logits(ids), 0.999
        if one.bits == 32 and not one.name.endswith(" cache"):
            least = 0.99999
        theirs = one.logits(ids)
        alike = float(np.corrcoef(wanted, theirs)[0, 1])
        best = bool(wanted.argmax() == theirs.argmax())
        if 1 - alike <= (1 - least) * growth and (best or least < 0.999):
            kept[name] = one
        rows.append({"contender": name, "correlation": f"{alike:.7f}", "same best token": best, "kept": name in kept})
    harness.show("Logits beside those of tokkit", rows)
    return kept


def only_decodes(one: Contender, run: Work | None) -> Work | None:
    """Return no work for those that differ from others in their cache alone."""
    return None if one.name.endswith(" cache") else run


def compare(name: str, folder: Path, rounds: int, works: list[str], wanted: list[str]) -> None:
    """Compare logits, then time all contenders in turns and print a table."""
    harness.section(name)
    ids = np.random.default_rng(0).integers(0, 256, LONG)
    those = with_equal_logits(contenders(folder, wanted), folder, ids[:COMPARED])
    work: dict[str, tuple[int, Callable[[Contender], Work | None]]] = {
        f"prefill {PROMPT}": (PROMPT, lambda c: only_decodes(c, c.reading(ids[:PROMPT]))),
        f"decode at {SHORT}": (STEPS, lambda c: c.decoding(ids[:SHORT], 1, STEPS)),
        f"decode at {LONG}": (STEPS, lambda c: c.decoding(ids, 1, STEPS)),
        f"batch of {BATCH}": (BATCH * STEPS, lambda c: only_decodes(c, c.decoding(ids[:SHORT], BATCH, STEPS))),
        f"{BEAMS} beams": (STEPS, lambda c: only_decodes(c, c.generating(ids[:SHORT], 1, STEPS, BEAMS))),
    }
    for what, how in work.items():
        if not works or any(one in what for one in works):
            harness.show(f"{name}: {what}", model_rivals.measure(those, {what: how}, rounds))


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where models are kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", action="append", help="the work whose name contains this; may be given several times")
    parser.add_argument("--only", action="append", help="the contenders whose names contain this; likewise")
    parser.add_argument("--shape", choices=list(SHAPES), action="append", help=f"one of the models; {SMALL} if none")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    if model_rivals.missing("transformers"):
        sys.exit("transformers, which makes the models, is not installed: pip install '.[parity]'")
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        for name in args.shape or SMALL:
            folder = Path(args.folder or aside) / name.replace(" ", "-")
            if not (folder / "config.json").exists():
                write_model(SHAPES[name], folder)
            compare(name, folder, args.rounds, args.work or [], args.only or [])


if __name__ == "__main__":
    main()
