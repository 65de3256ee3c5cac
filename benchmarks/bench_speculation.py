"""Times prompt look-up and a draft model beside plain decoding, with two small models trained here on english-prose.

Models (14M and 1.6M parameters) are trained with transformers for some minutes, and kept in --folder. Prompts are text
that repeats itself, a passage given two and a half times, and passages alone. Ids are compared: they must be those of
plain decoding. A round decodes each prompt in each way, in turns. `÷` is the median of the seconds of plain decoding by
those of the row.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tokkit
from benchmarks import corpora, harness
from tokkit import nn, pipeline

VOCAB, LENGTH, BATCH, NEW, PROMPTS = 8192, 128, 4, 96, 4
SHAPES: dict[str, dict[str, Any]] = {
    "model": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 1024},
    "draft": {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 256},
}
PASSAGE = 120


def train(folder: Path, shape: dict[str, Any], tok: tokkit.Tokenizer, ids: np.ndarray, steps: int) -> None:
    """Train a Llama on ids and save it with its tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    config = LlamaConfig(**shape, vocab_size=VOCAB, max_position_embeddings=1024, tie_word_embeddings=True)
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
    began = time.monotonic()
    for step in range(steps):
        rows = [ids[at : at + LENGTH].copy() for at in rng.integers(0, len(ids) - LENGTH, BATCH)]
        for row in rows[::2]:  # half of them learn to repeat
            row[LENGTH // 2 :] = row[: LENGTH // 2]
        batch = torch.tensor(np.stack(rows).astype(np.int64))
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0 or step == steps - 1:
            print(f"{folder.name}: step {step}, loss {loss.item():.2f}, {time.monotonic() - began:.0f} s", flush=True)
    model.save_pretrained(folder)
    tok.save(folder / "tokenizer.json", overwrite=True)


def prepare(home: Path, steps: int) -> None:
    """Train both models unless they are there."""
    missing = [name for name in SHAPES if not (home / name / "config.json").exists()]
    if not missing:
        return
    text = corpora.read("english-prose", 8).data.decode()
    tok = tokkit.train(iter([text[:2_000_000]]), vocab_size=VOCAB)
    ids = np.array(tok.encode(text[:-200_000]))
    for name in missing:
        train(home / name, SHAPES[name], tok, ids, steps)


def compare(home: Path, precision: str, rounds: int) -> None:
    """Time all ways and print a table."""
    model = pipeline.load(home / "model", precision=precision)
    draft = pipeline.load(home / "draft", precision=precision)
    assert isinstance(model, pipeline.TextGenerator)
    held_out = model.ids(corpora.read("english-prose", 8).data.decode()[-200_000:])
    passages = [held_out[i * 5000 : i * 5000 + PASSAGE] for i in range(PROMPTS)]
    prompts = {
        "repeats itself": [np.concatenate([each, each, each[: PASSAGE // 2]]) for each in passages],
        "a passage": passages,
    }
    ways: dict[str, dict[str, Any]] = {"plain": {}, "look-up 8": {"prompt_lookup": 8}, "draft": {"draft": draft}}
    rows = []
    for what, of in prompts.items():
        expected = [model.generate_ids(prompt, max_new_tokens=NEW) for prompt in of]
        first = [model.generate_ids(prompt, max_new_tokens=1) for prompt in of]
        tokens = sum(len(ids) for ids in expected) - len(first)
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, options in ways.items():
                reading = harness.timed(lambda p: model.generate_ids(p, max_new_tokens=1), of)[0]
                taken, made = harness.timed(lambda p, o=options: model.generate_ids(p, max_new_tokens=NEW, **o), of)
                assert made == expected, f"{way}: other ids than those of plain decoding"
                seconds[way].append(taken - reading)
        for way, taken in seconds.items():
            rows.append({
                "prompt": what, "way": way, "tokens/s": f"{tokens / float(np.median(taken)):,.0f}",
                "÷": f"{harness.ratio(taken, seconds['plain']):.2f}",
            })  # fmt: skip
    harness.section(f"{precision}: tokens/s after the prompt")
    print(harness.table(rows))


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where the trained models are kept")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--train-only", action="store_true")
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds, steps=args.steps)
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        home = Path(args.folder or aside)
        prepare(home, args.steps)
        for precision in () if args.train_only else ("fp32", "int8"):
            compare(home, precision, args.rounds)


if __name__ == "__main__":
    main()
