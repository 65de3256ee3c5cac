"""Models of language in tokkit and in its rivals, behind one face: reading a prompt, decoding, generating."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness, model_gguf
from tokkit import pipeline

PRECISIONS = ("fp32", "bf16", "int8", "int8-weight-only", "int4")
CACHES = ("float32", "bfloat16", "int8")
BITS = {"fp32": 32, "bf16": 16, "int8": 8, "int8-weight-only": 8, "int4": 4, "F32": 32, "F16": 16, "BF16": 16,
        "Q8_0": 8, "Q4_0": 4}  # fmt: skip
"""How wide the weights of a precision, or of a type of GGUF, are."""
NEEDED = {"transformers": ["torch", "transformers"], "ctranslate2": ["ctranslate2"], "llama.cpp": ["llama_cpp", "gguf"]}
NEXT = 5
"""The token that is decoded again and again: it makes no difference to the time which."""
POSITIONS = 1100
"""Of a context of llama.cpp."""
Work = Callable[[], float]


def missing(library: str) -> str:
    """Return what has to be installed before a library can take part; "" if nothing."""
    return ", ".join(name for name in NEEDED.get(library, []) if importlib.util.find_spec(name) is None)


class Contender:
    """A model with one precision. What a library cannot do is None."""

    def __init__(self, name: str, bits: int) -> None:
        self.name, self.bits = name, bits

    def logits(self, ids: np.ndarray) -> np.ndarray | None:
        """Return the logits after the last of the ids; of an encoder–decoder, those of the first token of a target."""
        return None

    def reading(self, ids: np.ndarray) -> Work | None:
        """Return what reads a prompt, and gives the seconds that it took."""
        return lambda: harness.timed(self.logits, [ids])[0]

    def decoding(self, ids: np.ndarray, n: int, steps: int) -> Work | None:
        """Return what decodes `steps` tokens of each of n sequences after a prompt."""
        return None

    def generating(self, ids: np.ndarray, n: int, new: int, beams: int) -> Work | None:
        """Return what generates `new` tokens for each of n prompts."""
        return None


@functools.cache
def _loaded(folder: Path, precision: str | None) -> Any:
    model: Any = pipeline.load(folder, precision=precision)
    model.eos_ids = frozenset()  # so that all generate as much
    return model


class Ours(Contender):
    """tokkit; precision None is that of a file."""

    def __init__(self, folder: Path, precision: str | None, cache: str = "float32") -> None:
        name = f"tokkit {precision}" + (f", {cache} cache" if cache != "float32" else "")
        super().__init__(name, BITS.get(precision or "", 0))
        self.model = _loaded(folder, precision)
        self.decoder = self.model.decoder.with_cache(cache)

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits after the last of the ids."""
        if self.decoder.config.layers.cross:
            return self.model.logits(ids, last=True)
        return self.decoder.logits(self.decoder([ids], [self.decoder.cache(capacity=len(ids))])[-1:])[0]

    def decoding(self, ids: np.ndarray, n: int, steps: int) -> Work:
        """Return what decodes `steps` tokens of each of n sequences after a prompt."""
        caches = [self.decoder.cache(capacity=len(ids) + steps) for _ in range(n)]
        self.decoder([ids] * n, caches)
        last = [[NEXT]] * n

        def step(_: object) -> list[int]:
            return self.decoder.logits(self.decoder(last, caches)).argmax(-1).tolist()

        def work() -> float:
            for cache in caches:
                cache.truncate(len(ids))
            return harness.timed(step, range(steps))[0]

        return work

    def generating(self, ids: np.ndarray, n: int, new: int, beams: int) -> Work:
        """Return what generates `new` tokens for each of n prompts."""
        options: dict[str, Any] = {"max_new_tokens": new} | ({} if beams == 1 else {"num_beams": beams})
        return lambda: harness.timed(lambda _: self.model.generate_all([ids] * n, **options), [0])[0]


class Torch(Contender):
    """transformers, on torch."""

    def __init__(self, folder: Path, precision: str) -> None:
        import torch
        import transformers

        super().__init__(f"transformers {precision}", BITS[precision])
        self.torch = torch
        torch.set_num_threads(1)
        config = transformers.AutoConfig.from_pretrained(folder)
        name = "AutoModelForSeq2SeqLM" if config.is_encoder_decoder else "AutoModelForCausalLM"
        dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        self.model = getattr(transformers, name).from_pretrained(folder, dtype=dtype).eval()
        self.more: dict[str, Any] = {"logits_to_keep": 1}
        if config.is_encoder_decoder:
            self.more = {"decoder_input_ids": torch.tensor([[config.decoder_start_token_id]])}

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits after the last of the ids."""
        with self.torch.no_grad():
            return self.model(self.torch.tensor(ids)[None], **self.more).logits[0, -1].float().numpy()

    def decoding(self, ids: np.ndarray, n: int, steps: int) -> Work:
        """Return what decodes `steps` tokens of each of n sequences after a prompt."""
        torch = self.torch
        last = torch.full((n, 1), NEXT)
        with torch.no_grad():
            cache = self.model(torch.tensor(np.stack([ids] * n)), use_cache=True, logits_to_keep=1).past_key_values

        def step(_: object) -> list[int]:
            return self.model(last, past_key_values=cache, use_cache=True).logits[:, -1].argmax(-1).tolist()

        def work() -> float:
            if more := cache.get_seq_length() - len(ids):
                cache.crop(-more)
            with torch.no_grad():
                return harness.timed(step, range(steps))[0]

        return work

    def generating(self, ids: np.ndarray, n: int, new: int, beams: int) -> Work:
        """Return what generates `new` tokens for each of n prompts."""
        given = self.torch.tensor(np.stack([ids] * n))
        options = {"num_beams": beams, "min_new_tokens": new, "max_new_tokens": new, "do_sample": False}
        options |= {"attention_mask": self.torch.ones_like(given), "pad_token_id": 0}
        return lambda: harness.timed(lambda _: self.model.generate(given, **options), [0])[0]


class CTranslate2(Contender):
    """ctranslate2's Generator or Translator; a decoded token is the difference between two lengths."""

    def __init__(self, folder: Path, precision: str) -> None:
        import ctranslate2

        super().__init__(f"ctranslate2 {precision}", BITS[precision])
        out = folder / f"ct2-{precision}"
        self.translates = json.loads((folder / "config.json").read_text()).get("is_encoder_decoder", False)
        if not out.exists():
            ctranslate2.converters.TransformersConverter(str(folder)).convert(
                str(out), quantization={"fp32": "float32", "int8": "int8"}[precision]
            )
            if not self.translates:
                config = json.loads((out / "config.json").read_text())
                # It wants such tokens, and ends at none here.
                config |= {"bos_token": "<256>", "eos_token": "<257>", "unk_token": "<258>"}
                (out / "config.json").write_text(json.dumps(config))
        kind = ctranslate2.Translator if self.translates else ctranslate2.Generator
        self.model = kind(str(out), device="cpu", intra_threads=1, inter_threads=1)

    def logits(self, ids: np.ndarray) -> np.ndarray | None:
        """Return the logits after the last of the ids; a Translator has none."""
        if self.translates:
            return None
        return np.asarray(self.model.forward_batch([ids.tolist()]))[0, -1]

    def reading(self, ids: np.ndarray) -> Work:
        """Return what reads a prompt: forward_batch would make the logits of all its tokens."""
        return self.generating(ids, 1, 1, 1)

    def decoding(self, ids: np.ndarray, n: int, steps: int) -> Work:
        """Return what decodes `steps` tokens of each of n sequences after a prompt."""
        one, more = self.generating(ids, n, 1, 1), self.generating(ids, n, 1 + steps, 1)
        return lambda: more() - one()

    def generating(self, ids: np.ndarray, n: int, new: int, beams: int) -> Work:
        """Return what generates `new` tokens for each of n prompts, which have as many tokens as the ids."""
        prompts, options = [["a"] * len(ids)] * n, {"beam_size": beams}
        if self.translates:
            options |= {"max_decoding_length": new, "min_decoding_length": new}
            return lambda: harness.timed(lambda _: self.model.translate_batch(prompts, **options), [0])[0]
        options |= {"max_length": new, "min_length": new, "include_prompt_in_result": False, "sampling_topk": 1}
        return lambda: harness.timed(lambda _: self.model.generate_batch(prompts, **options), [0])[0]


class LlamaCpp(Contender):
    """llama.cpp by the C functions that llama-cpp-python hands on; it has no beam search.

    Without flash attention, which it takes unless told otherwise, it decodes long texts faster; q8_0 needs it.
    """

    def __init__(self, folder: Path, kind: str, cache: str = "f16", *, flash: bool = True) -> None:
        import llama_cpp

        name = f"llama.cpp {kind}" + (f", {cache} cache" if cache != "f16" else "")
        super().__init__(name + ("" if flash else ", no flash attention"), BITS[kind])
        self.c, self.flash = llama_cpp, flash
        self.path = folder / f"{kind}.gguf"
        if not self.path.exists():
            model_gguf.write_gguf(folder, self.path, kind)
        self.cache = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}[cache]
        self._quiet = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self._quiet, ctypes.c_void_p(0))
        self.model = llama_cpp.llama_model_load_from_file(
            str(self.path).encode(), llama_cpp.llama_model_default_params()
        )
        if not self.model:
            raise OSError(f"llama.cpp does not load {self.path.name}")
        self.n_vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.one = self._context(POSITIONS, 1)

    def _context(self, positions: int, n: int) -> Any:
        options = self.c.llama_context_default_params()
        options.n_ctx, options.n_seq_max = positions, n
        options.n_batch = options.n_ubatch = 512
        options.n_threads = options.n_threads_batch = 1
        options.type_k = options.type_v = self.cache
        flash = self.c.LLAMA_FLASH_ATTN_TYPE_AUTO if self.flash else self.c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        options.flash_attn_type = flash
        context = self.c.llama_init_from_model(self.model, options)
        if not context:
            raise OSError(f"llama.cpp makes no context of {positions} positions")
        return context

    def _run(self, context: Any, ids: list[int], first: int, sequences: list[int]) -> np.ndarray:
        """Read the same ids, from position `first` on, in each of the sequences; return the logits after the last."""
        for start in range(0, len(ids), 512):
            some = ids[start : start + 512]
            last = start + len(some) == len(ids)
            batch = self.c.llama_batch_init(len(some) * len(sequences), 0, 1)
            batch.n_tokens = 0
            for sequence in sequences:
                for i, token in enumerate(some):
                    at = batch.n_tokens
                    batch.token[at], batch.pos[at], batch.n_seq_id[at] = token, first + start + i, 1
                    batch.seq_id[at][0], batch.logits[at] = sequence, last and i + 1 == len(some)
                    batch.n_tokens += 1
            if self.c.llama_decode(context, batch):
                raise OSError("llama.cpp could not decode")
            self.c.llama_batch_free(batch)
        return np.ctypeslib.as_array(self.c.llama_get_logits(context), (len(sequences), self.n_vocab))

    def _clear(self, context: Any) -> None:
        self.c.llama_memory_clear(self.c.llama_get_memory(context), True)

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """Return the logits after the last of the ids."""
        self._clear(self.one)
        return self._run(self.one, ids.tolist(), 0, [0])[0].copy()

    def decoding(self, ids: np.ndarray, n: int, steps: int) -> Work:
        """Return what decodes `steps` tokens of each of n sequences after a prompt."""
        # As many positions for each as are used, up to the 256 that it takes at a time.
        context = self.one if n == 1 else self._context(n * 256, n)
        self._clear(context)
        for i in range(n):
            self._run(context, ids.tolist(), 0, [i])
        memory, sequences = self.c.llama_get_memory(context), list(range(n))

        def step(i: int) -> list[int]:
            return self._run(context, [NEXT], len(ids) + i, sequences).argmax(-1).tolist()

        def work() -> float:
            for sequence in sequences:
                self.c.llama_memory_seq_rm(memory, sequence, len(ids), -1)
            return harness.timed(step, range(steps))[0]

        return work


def measure(
    those: Mapping[str, Contender], work: Mapping[str, tuple[int, Callable[[Contender], Work | None]]], rounds: int
) -> list[dict[str, object]]:
    """Time each contender once a round, in turns; return a row of the table for each work and contender.

    `work` has the tokens that are counted, and what prepares the work of a contender. The best rival of a row of tokkit
    is the one with the least median of those whose weights are as wide; `×` is the median over the rounds of its
    seconds by ours.
    """
    rows = []
    for what, (tokens, prepare) in work.items():
        ready = {name: run for name, one in those.items() if (run := prepare(one)) is not None}
        seconds: dict[str, list[float]] = {name: [] for name in ready}
        for _ in range(rounds):
            for name, run in ready.items():
                seconds[name].append(run())
        for name, taken in seconds.items():
            rate = f"{tokens / statistics.median(taken):,.1f}"
            row: dict[str, object] = {"work": what, "contender": name, "tokens/s": rate, "±": harness.spread(taken)}
            rivals = [
                rival
                for rival in seconds
                if not isinstance(those[rival], Ours) and those[rival].bits == those[name].bits
            ]
            best = min(rivals, key=lambda rival: statistics.median(seconds[rival]), default="")
            ours = isinstance(those[name], Ours)
            row["best rival of its width"] = best if ours else ""
            row["×"] = f"{harness.ratio(taken, seconds[best]):.2f}" if ours and best else ""
            rows.append(row)
    return rows
