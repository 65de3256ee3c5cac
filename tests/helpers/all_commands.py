"""Lists every command of the command line, with arguments that make it run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

import adapters
import generators
import model_folders
import tokkit
from tokkit import embeddings
from tokkit.cli import main
from tokkit.trainers import build_counts

REQUIRED: dict[str, dict[str, str]] = {
    "train": {"inputs": "a.txt", "output": "new.json", "vocab_size": "260"},
    "encode": {"tokenizer": "tok.json", "files": "a.txt"},
    "encode-shards": {"tokenizer": "tok.json", "inputs": "a.txt", "output": "shards"},
    "decode": {"tokenizer": "tok.json", "file": "a.ids"},
    "count": {"tokenizer": "tok.json", "files": "a.txt"},
    "truncate": {"tokenizer": "tok.json", "file": "a.txt", "limit": "3"},
    "chunk": {"tokenizer": "tok.json", "files": "a.txt"},
    "convert": {"source": "tok.json", "target": "new.json"},
    "view": {"tokenizer": "tok.json", "files": "a.txt"},
    "inspect": {"tokenizer": "tok.json"},
    "compare": {"inputs": "a.txt", "train": "bbpe", "vocab_sizes": "260", "held_out": "0.5"},
    "report": {"tokenizer": "tok.json", "sources": "a.txt"},
    "bench": {"tokenizer": "tok.json", "file": "a.txt", "against": "none", "runs": "1"},
    "counts build": {"shards": "a.txt", "output": "counts"},
    "counts merge": {"sources": "a.counts", "output": "new.counts"},
    "counts prune": {"sources": "a.counts", "output": "new.counts", "min_count": "2"},
    "counts info": {"sources": "a.counts"},
    "model embed": {"paths": "a.txt", "output": "index", "model": "model"},
    "model search": {"index": "index", "query": "cat"},
    "model similarity": {"texts": "the cat", "model": "model", "file": "lines.txt"},
    "model rerank": {"model": "reranker", "query": "cat", "files": "lines.txt"},
    "model classify": {"model": "reranker", "texts": "the cat"},
    "model entities": {"model": "tagger", "files": "lines.txt"},
    "model generate": {"model": "generator", "prompt": "the cat", "max_new_tokens": "3"},
    "model chat": {"model": "generator", "max_new_tokens": "3"},
    "model next": {"model": "generator", "text": "the cat"},
    "model score": {"model": "generator", "prompt": "the", "continuations": " cat"},
    "model perplexity": {"model": "generator", "files": "lines.txt"},
    "model finetune": {"data": "pairs.jsonl", "start": "model", "output": "new", "batch": "2", "steps": "1"},
    "model merge": {"model": "generator", "adapter": "adapter", "output": "new"},
    "model train": {"corpus": "a.txt", "output": "new", "tokenizer": "tok.json", "context": "4", "steps": "1"},
    "model quantize": {"model": "generator", "output": "packed"},
    "model fill-mask": {"model": "model", "text": "the [MASK] sat"},
    "model attention": {"model": "model", "text": "the cat", "output": "new.html"},
    "wordvec distill": {"model": "model", "output": "static"},
    "wordvec train": {"corpus": "a.txt", "output": "new.safetensors", "tokenizer": "tok.json", "size": "4"},
    "wordvec query": {"vectors": "words.vec", "words": "low"},
    "wordvec analogy": {"vectors": "words.vec", "a": "low", "b": "lower", "c": "new"},
    "wordvec similarity": {"vectors": "words.vec", "words": "low", "file": "words.txt"},
    "wordvec eval": {"vectors": "words.vec", "analogies": "analogies.txt"},
    "wordvec convert": {"source": "words.vec", "target": "new.bin"},
    "wordvec plot": {"vectors": "vectors.txt", "output": "new.html"},
    "wordvec oov": {"model": "fasttext.bin", "words": "cats"},
    "wordvec classify": {"model": "classifier.bin", "train": "labelled.txt", "output": "new.bin"},
    "serve": {"models": "generator", "host": "no such host"},
    "play": {"tokenizers": "tok.json", "prices": "no such table"},
    "fetch": {"names": "none/such"},
    "info": {},
    "completion": {"shell": "bash"},
}
"""Command → what it is given besides what a test tries; a new command wants a line here."""


def walk(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield ("model embed", its command) of every command that is no group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from walk(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(walk())


def arguments(name: str, given: Mapping[str, str]) -> list[str]:
    """The command line of a command: what it must be given, and what a test gives by the names of parameters."""
    values = {**REQUIRED[name], **given}
    options, positional = [], []
    for parameter in COMMANDS[name].params:
        if (parameter.name or "") not in values and parameter.name != "force":
            continue
        if isinstance(parameter, click.Argument):
            positional.append(values[str(parameter.name)])
        elif parameter.name == "force":
            options.append("--force")
        else:
            flag = next(flag for flag in parameter.opts if flag.startswith("--"))
            options.append(f"{flag}={values[str(parameter.name)]}")
    return [*name.split(" "), *options, "--", *positional] if name != "compare" else ["compare", *options, *positional]


def make_files(folder: Path) -> None:
    """Write what the arguments above name."""
    text = "low lower lowest\nnewer wider new\n" * 20
    tokkit.train(iter([text]), vocab_size=300, special_tokens=["<|end|>"]).save(folder / "tok.json")
    (folder / "a.txt").write_text(text)
    (folder / "a.ids").write_text("1 2 3\n")
    made = build_counts(folder / "a.txt", folder / "built")
    made[0].path.rename(folder / "a.counts")
    (folder / "lines.txt").write_text("the cat sat\non a mat\n")
    (folder / "words.vec").write_text("4 2\nlow 1 0\nlower 1 1\nnew 2 0.5\nnewer 2 2\n")
    (folder / "words.txt").write_text("low\nnew\n")
    (folder / "analogies.txt").write_text(": all\nlow lower new newer\n")
    (folder / "vectors.txt").write_text("3 2\ncat 1 0\ndog 1 0.1\ncar 0 1\n")
    (folder / "pairs.jsonl").write_text('["low", "a low one"]\n["new", "a newer one"]\n["wide", "the wider"]\n')
    (folder / "labelled.txt").write_text("__label__a low lower\n__label__b new newer\n")
    embeddings.FastText([["low", "new"]], min_count=1, vector_size=4, bucket=9, workers=1).save(folder / "fasttext.bin")
    embeddings.train_supervised(folder / "labelled.txt", dim=4, thread=1).save_model(folder / "classifier.bin")
    tensors = model_folders.tensors_of(model_folders.BERT, head=True)
    model_folders.write(folder / "model", tensors=tensors)
    model_folders.classifier(folder / "reranker", ["score"])
    model_folders.classifier(folder / "tagger", ["O", "B-PER"], tokens=True)
    generators.folder(folder / "generator")
    adapters.write(folder / "adapter", rank=2)
    (folder / "generator" / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
