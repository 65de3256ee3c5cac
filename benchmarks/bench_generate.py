"""Times reading, decoding and beam search of GPT-2 small and of a Llama of 125M, beside transformers and ctranslate2.

Weights are random: speed alone is measured, after the logits of tokkit and transformers at fp32 have been compared. A
round times each contender once, in turns; `--clock cpu` is for a busy machine. `÷` is the median over the rounds of the
contender's seconds by ours at one precision: above 1 we are faster. Rivals that are not installed are left out.

The model's folder is made at the start, or kept in --folder.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from benchmarks import harness
from tokkit import nn, pipeline

PROMPT, SHORT, LONG, STEPS, BATCH, BEAMS = 512, 16, 1000, 24, 8, 4
SHAPES: dict[str, dict[str, Any]] = {
    "GPT-2 small": {"type": "gpt2", "n_positions": 1100},
    "Llama 125M": {
        "type": "llama", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "num_key_value_heads": 4, "intermediate_size": 2048, "vocab_size": 32000, "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
    },
}  # fmt: skip
PRECISIONS = ("fp32", "bf16", "int8", "int8-weight-only", "int4")
Work = Callable[[], float]


def write_model(shape: dict[str, Any], folder: Path) -> None:
    """Save a model with random weights, and a tokenizer whose ids it has."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(shape["type"], **{name: value for name, value in shape.items() if name != "type"})
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    # ctranslate2 wants a token for each row of the table.
    names = {f"<{i}>": i for i in range(256, config.vocab_size)}
    tok = tokkit.train(iter(["a few words"]), vocab_size=256).with_special_tokens(names)
    tok.save(folder / "tokenizer.json", overwrite=True)


class Ours:
    """tokkit at one precision."""

    def __init__(self, folder: Path, precision: str) -> None:
        self.model: Any = pipeline.load(folder, precision=precision)
        self.model.eos_ids = frozenset()
        self.decoder = self.model.decoder

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits after the last of the ids."""
        return self.decoder.logits(self.decoder([ids], [self.decoder.cache(capacity=len(ids))])[-1:])[0]

    def prefill(self, ids: np.ndarray) -> Work:
        """Return what reads a prompt."""
        return lambda: harness.timed(self.logits, [ids])[0]

    def decode(self, ids: np.ndarray, n: int = 1) -> Work:
        """Return what decodes STEPS tokens after a prompt, of n sequences."""

        def work() -> float:
            caches = [self.decoder.cache(capacity=len(ids) + STEPS) for _ in range(n)]
            self.decoder([ids] * n, caches)
            last = [[5]] * n

            def step(_: object) -> int:
                return int(self.decoder.logits(self.decoder(last, caches)).argmax(-1)[0])

            return harness.timed(step, range(STEPS))[0]

        return work

    def beam(self, ids: np.ndarray) -> Work:
        """Return what searches STEPS tokens after a prompt."""

        def search(_: object) -> object:
            return self.model.generate_all([ids], num_beams=BEAMS, max_new_tokens=STEPS)

        return lambda: harness.timed(search, [0])[0]


class Torch:
    """transformers, on torch."""

    def __init__(self, folder: Path, precision: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        self.torch = torch
        torch.set_num_threads(1)
        dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits after the last of the ids."""
        with self.torch.no_grad():
            return self.model(self.torch.tensor(ids)[None], logits_to_keep=1).logits[0, -1].float().numpy()

    def prefill(self, ids: np.ndarray) -> Work:
        """Return what reads a prompt."""
        return lambda: harness.timed(self.logits, [ids])[0]

    def decode(self, ids: np.ndarray, n: int = 1) -> Work:
        """Return what decodes STEPS tokens after a prompt, of n sequences."""
        torch = self.torch

        def work() -> float:
            with torch.no_grad():
                made = self.model(torch.tensor(np.stack([ids] * n)), use_cache=True, logits_to_keep=1)
                cache, last = made.past_key_values, torch.full((n, 1), 5)

                def step(_: object) -> int:
                    again = self.model(last, past_key_values=cache, use_cache=True)
                    return int(again.logits[:, -1].argmax(-1)[0])

                return harness.timed(step, range(STEPS))[0]

        return work

    def beam(self, ids: np.ndarray) -> Work:
        """Return what searches STEPS tokens after a prompt."""
        options = {"num_beams": BEAMS, "min_new_tokens": STEPS, "max_new_tokens": STEPS, "do_sample": False}

        def search(_: object) -> object:
            given = self.torch.tensor(ids)[None]
            return self.model.generate(given, attention_mask=self.torch.ones_like(given), pad_token_id=0, **options)

        return lambda: harness.timed(search, [0])[0]


class CTranslate2:
    """ctranslate2's Generator; a decoded token is the difference between two lengths."""

    def __init__(self, folder: Path, precision: str) -> None:
        import ctranslate2

        out = folder / f"ct2-{precision}"
        if not out.exists():
            ctranslate2.converters.TransformersConverter(str(folder)).convert(
                str(out), quantization={"fp32": "float32", "int8": "int8"}[precision]
            )
            config = json.loads((out / "config.json").read_text())
            # It wants such tokens, and ends at none here.
            config |= {"bos_token": "<256>", "eos_token": "<257>", "unk_token": "<258>"}
            (out / "config.json").write_text(json.dumps(config))
        self.model = ctranslate2.Generator(str(out), device="cpu", intra_threads=1, inter_threads=1)

    def prefill(self, ids: np.ndarray) -> Work:
        """Return what reads a prompt."""
        return lambda: harness.timed(self._run(1, len(ids), 1), [0])[0]

    def decode(self, ids: np.ndarray, n: int = 1) -> Work:
        """Return what decodes STEPS tokens after a prompt, of n sequences."""
        one, more = self._run(n, len(ids), 1), self._run(n, len(ids), 1 + STEPS)
        return lambda: harness.timed(more, [0])[0] - harness.timed(one, [0])[0]

    def beam(self, ids: np.ndarray) -> Work:
        """Return what searches STEPS tokens after a prompt."""
        return lambda: harness.timed(self._run(1, len(ids), STEPS, BEAMS), [0])[0]

    def _run(self, n: int, length: int, new: int, beams: int = 1) -> Callable[[object], object]:
        token = "a"
        prompts = [[token] * length] * n
        return lambda _: self.model.generate_batch(
            prompts, max_length=new, min_length=new, include_prompt_in_result=False, sampling_topk=1, beam_size=beams
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


def compare(name: str, folder: Path, rounds: int, wanted: str) -> None:
    """Compare logits, then time all contenders in turns and print a table."""
    those = contenders(folder)
    ids = np.random.default_rng(0).integers(0, 256, LONG)
    ours, theirs = those["tokkit fp32"].logits(ids[:64]), those["transformers fp32"].logits(ids[:64])
    if np.abs(ours - theirs).max() > 1e-4 * max(1.0, np.abs(theirs).max()):
        sys.exit(f"{name}: logits differ by {np.abs(ours - theirs).max():.2g}")
    work = {
        f"prefill {PROMPT}": (PROMPT, lambda c: c.prefill(ids[:PROMPT])),
        f"decode at {SHORT}": (STEPS, lambda c: c.decode(ids[:SHORT])),
        f"decode at {LONG}": (STEPS, lambda c: c.decode(ids[:LONG])),
        f"batch of {BATCH}": (BATCH * STEPS, lambda c: c.decode(ids[:SHORT], BATCH)),
        f"{BEAMS} beams": (STEPS, lambda c: c.beam(ids[:SHORT])),
    }
    rows = []
    for what, (tokens, prepare) in work.items():
        if wanted not in what:
            continue
        seconds: dict[str, list[float]] = {contender: [] for contender in those}
        for _ in range(rounds):
            for contender, made in those.items():
                seconds[contender].append(prepare(made)())
        for contender, taken in seconds.items():
            row: dict[str, object] = {"work": what, "contender": contender}
            row["tokens/s"] = f"{tokens / statistics.median(taken):,.1f}"
            for precision in PRECISIONS:
                row[f"÷ {precision}"] = f"{harness.ratio(seconds[f'tokkit {precision}'], taken):.2f}"
            rows.append(row)
    harness.section(f"{name}: tokens/s, and how many times the seconds of ours")
    print(harness.table(rows))


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where models are kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", help="the rows whose names contain this")
    parser.add_argument("--shape", choices=list(SHAPES), action="append")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        for name in args.shape or SHAPES:
            folder = Path(args.folder or aside) / name.replace(" ", "-")
            if not (folder / "config.json").exists():
                write_model(SHAPES[name], folder)
            compare(name, folder, args.rounds, args.work or "")


if __name__ == "__main__":
    main()
