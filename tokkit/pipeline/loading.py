"""Loads a model with its tokenizer from a folder, or by its name on the hub, in the given precision."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokkit import loading
from tokkit.errors import FormatError, OptionError
from tokkit.escaping import show
from tokkit.files import files
from tokkit.files.sharded import read_model
from tokkit.nn.decoder_cache import checked_dtype
from tokkit.normalizers.lowercase import Lowercase
from tokkit.normalizers.sequence import Sequence
from tokkit.pipeline import (
    decoder_families,
    encoder_loading,
    generator_loading,
    modules,
    packed_folders,
    seq2seq_families,
    static_format,
)
from tokkit.pipeline.packed_folders import PRECISIONS
from tokkit.pipeline.text_generator import TextGenerator
from tokkit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokkit.normalizers.base import Normalizer
    from tokkit.pipeline.cross_encoder import CrossEncoder
    from tokkit.pipeline.sentences import SentenceEncoder
    from tokkit.pipeline.static import StaticEncoder
    from tokkit.pipeline.token_classifier import TokenClassifier

NO_LIMIT = 1 << 31
ADAPTER = "adapter_config.json"

# A kind of model that is not loaded is not imported: that would be a third of the time until a first token.


def load(
    path_or_name: str | os.PathLike[str], *, precision: str | None = None, max_length: int | None = None,
    download: bool = False, cache: str | None = None, adapter: str | os.PathLike[str] | None = None,
) -> SentenceEncoder | StaticEncoder | CrossEncoder | TokenClassifier | TextGenerator:  # fmt: skip
    """Return the model of a folder with config.json, model.safetensors and a tokenizer, or of a GGUF file.

    What it returns depends on the folder:

    - `TextGenerator`: a decoder (GPT-2, Llama, Mistral, Mixtral, Qwen 2 and 3, Gemma 1 to 3, Phi-3, GPT-NeoX, Pythia,
      BLOOM), or a GGUF file with one of them and its tokenizer;
    - `Seq2SeqGenerator`, with the methods of a `TextGenerator`: an encoder–decoder (T5, FLAN-T5, mT5, BART);
    - `SentenceEncoder`: an encoder (BERT, MiniLM, RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT, MPNet, ELECTRA,
      ModernBERT, Nomic BERT, GTE, EuroBERT), or a decoder in a folder of sentence-transformers, such as
      Qwen3-Embedding or EmbeddingGemma. Modules of sentence-transformers are applied; without them, the vectors of
      tokens are averaged;
    - `CrossEncoder` or `TokenClassifier`: an encoder whose architecture ends in ForSequenceClassification or
      ForTokenClassification, unless modules.json lists a pooling. A decoder for ForSequenceClassification is a
      `CrossEncoder` too;
    - `StaticEncoder`: a static model of model2vec, or one with sentence-transformers' StaticEmbedding.

    `precision` is "fp32"; "bf16", half of the memory and, if the CPU multiplies bfloat16, faster (cosine to fp32 above
    0.9999); "int8", a quarter and fastest (above 0.995 for nearly all texts); to generate text also "int4", an eighth,
    and "int8-weight-only", with scales for every 32 inputs. A folder that `tokkit model quantize` wrote has its own
    precision, and is memory-mapped; the default of others is fp32. `cache` is the dtype of a decoder's KV cache:
    "float32" (also if None); "bfloat16", half of the memory; or "int8", a quarter.

    `max_length` replaces the limit of tokens in the folder, up to the model's positions. `adapter` is a folder with a
    LoRA in PEFT's format, which is added to the weights of an encoder or a decoder. A folder that holds only an adapter
    is loaded with the model that it names.

    A name "org/name" that is not a folder is looked up in the hub's cache (extra `hub`), and downloaded with
    `download`. A name alone, such as "all-MiniLM-L6-v2", is one of sentence-transformers.

    Raises FormatError for a folder that does not fit together, with the name of the tensor and both shapes; OSError
    unchanged.
    """
    if cache is not None:
        checked_dtype(cache)
        made = load(path_or_name, precision=precision, max_length=max_length, download=download, adapter=adapter)
        if not isinstance(made, TextGenerator):
            raise OptionError(
                f"cache is {cache!r}, but {show(os.fspath(path_or_name))} does not generate text; leave it out"
            )
        return made.with_cache(cache)
    if precision is not None and precision not in PRECISIONS:
        raise OptionError(f"precision is {precision!r}; it must be one of {', '.join(PRECISIONS)}")
    folder = Path(found(path_or_name, download=download))
    if adapter is not None or (folder / ADAPTER).is_file():
        from tokkit.pipeline import adapters
    if adapter is None and (folder / ADAPTER).is_file() and adapters.is_adapter(folder):
        base = adapters.read_adapter(folder).base
        if base is None:
            raise FormatError(
                f"{files.show(folder)}: this adapter does not name its model; load the model, with this folder as "
                "adapter"
            )
        return load(base, precision=precision, max_length=max_length, download=download, adapter=folder)
    added = None if adapter is None else Path(os.path.abspath(adapter))
    if added is not None and (
        not folder.is_dir() or packed_folders.is_packed(folder) or static_format.is_static(folder)
    ):
        raise OptionError(
            f"{files.show(folder)}: an adapter needs the folder of an encoder or decoder in transformers' format"
        )
    stored = packed_folders.PackedFolder(folder, precision) if packed_folders.is_packed(folder) else None
    if folder.is_file() or (stored is not None and stored.is_gguf):
        from tokkit.pipeline import gguf_loading
    if folder.is_file() and gguf_loading.is_gguf(folder):
        return gguf_loading.load(folder, None if precision is None else PRECISIONS[precision], max_length)
    if stored is not None and stored.is_gguf:
        return gguf_loading.load_packed(stored, max_length)
    dtype = PRECISIONS[precision or "fp32"] if stored is None else stored.dtype
    if not folder.is_dir():
        if not folder.exists():
            raise FileNotFoundError(f"{files.show(folder)}: no such folder; a model is a folder with config.json")
        raise FormatError(f"{files.show(folder)}: this is a file; it must be the folder of a model")
    if static_format.is_static(folder):
        if precision not in (None, "fp32"):
            raise OptionError(f"precision is {precision!r}; a static model must be fp32")
        from tokkit.pipeline import static_folders

        return static_folders.read(folder, max_length=max_length)
    chain = modules.read(folder)
    home = chain.transformer
    if not (home / "config.json").exists():
        raise FormatError(f"{files.show(home)}: there is no config.json; a model is a folder with config.json")
    config = modules.read_json(home / "config.json")
    is_classifier = False
    if added is not None:
        told = adapters.read_adapter(added)
        config, is_classifier = adapters.configured(config, told), told.config is not None
    is_decoder = config.get("model_type") in decoder_families.FAMILIES
    if is_decoder and not encoder_loading.makes_vectors(config, chain):
        return generator_loading.load(home, config, dtype, max_length, added, stored)
    if config.get("model_type") in seq2seq_families.FAMILIES:
        if added is not None:
            raise OptionError(f"{files.show(home)}: adapters of encoder–decoders are not supported")
        from tokkit.pipeline import seq2seq_loading

        return seq2seq_loading.load(home, config, dtype, max_length, stored)
    if not chain.poolings:
        raise FormatError(
            f"{files.show(folder)}: the module {modules.SCORES} is for causal language models, not for encoders"
        )
    from tokkit.pipeline import task_heads
    from tokkit.pipeline.cross_encoder import CrossEncoder
    from tokkit.pipeline.sentences import SentenceEncoder
    from tokkit.pipeline.token_classifier import TokenClassifier

    spec = encoder_loading.read_spec(home, config, dtype)
    width = spec.config.dim * len(chain.poolings)
    if chain.columns not in (0, width):
        raise FormatError(
            f"{files.show(folder)}: its modules need vectors of {chain.columns} columns, but pooling a model of "
            f"{spec.config.dim} gives {width}"
        )
    if stored is None:
        tensors = read_model(home) if added is None else adapters.merged(read_model(home), added)
        encoder, weights = encoder_loading.read_encoder(tensors, spec, files.show(home))
    else:
        tensors = stored.heads()
        encoder, weights = encoder_loading.read_packed(stored, spec)
    tokenizer = loading.load(home)
    if generator_loading.needs_rows(tokenizer, spec.vocab_size):
        raise FormatError(
            f"{files.show(home)}: the tokenizer has {tokenizer.n_ids} ids, and the tensor "
            f"{spec.name('embeddings.word.weight')!r} of shape {(spec.vocab_size, spec.config.dim)} has rows for "
            f"{spec.vocab_size}"
        )
    if chain.lowercase:
        normalizer = tokenizer.definition.normalizer
        lower = Lowercase() if normalizer is None else Sequence((Lowercase(), cast("Normalizer", normalizer)))
        tokenizer = Tokenizer(replace(tokenizer.definition, normalizer=lower))
    stated = modules.read_json(home / "tokenizer_config.json", {})
    again = functools.partial(load, os.path.abspath(folder), precision=precision, max_length=max_length, adapter=added)
    common: dict[str, Any] = {
        "reload": again, "left": stated.get("truncation_side") == "left",
        "max_length": _limit(
            max_length, chain.max_length, stated.get("model_max_length"), encoder.embeddings.max_length
        ),
    }  # fmt: skip
    task = None if chain.others and not is_classifier else task_heads.task_of(config)
    if task is None:
        return SentenceEncoder(home, tokenizer, encoder, weights, spec, modules=chain, **common)
    head = task_heads.Head(task, config, tensors, spec.config.dim, files.show(home))
    if task == "ForTokenClassification":
        return TokenClassifier(home, tokenizer, encoder, weights, spec, head=head, **common)
    return CrossEncoder(home, tokenizer, encoder, weights, spec, head=head, config=config, **common)


def _limit(asked: int | None, of_sentences: int | None, of_tokenizer: object, positions: int) -> int:
    """Return the maximum number of tokens to read of a text: as requested, as a file states, or all positions."""
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= positions:
            raise OptionError(f"max_length is {asked!r}; the model has positions for 1 to {positions} tokens")
        return asked
    told = of_sentences
    # Tokenizers without a limit state 10^30.
    if told is None and isinstance(of_tokenizer, (int, float)) and 1 <= of_tokenizer < NO_LIMIT:
        told = int(of_tokenizer)
    return positions if told is None else min(told, positions)


def found(path_or_name: str | os.PathLike[str], *, download: bool = False) -> str | os.PathLike[str]:
    """Return the path of a model: as given, or from the hub's cache if there is no such path."""
    if isinstance(path_or_name, str) and not os.path.exists(path_or_name):
        from tokkit.registry import hub, hub_models

        name = path_or_name if "/" in path_or_name else f"{hub_models.OWNER}/{path_or_name}"
        if hub.is_name(name) and "\\" not in name:
            return hub_models.find(path_or_name, download=download)
    return path_or_name
