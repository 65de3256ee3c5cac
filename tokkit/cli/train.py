"""`tokkit train`: trains a tokenizer on a corpus and writes its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from tokkit.cli import mixing, options, sentencepiece_options
from tokkit.cli.train_options import BELONGS, GROUPS, MODELS


def _known_model(_: click.Context, __: click.Parameter, model: str) -> str:
    if model not in MODELS:
        raise click.BadParameter(f"{model!r} is not among the models that can be trained: {', '.join(MODELS)}")
    return model


def _known_model_type(ctx: click.Context, parameter: click.Parameter, model: str | None) -> str | None:
    """Return the model by sentencepiece's name for it."""
    if model is None:
        return None
    return _known_model(ctx, parameter, sentencepiece_options.BY_MODEL_TYPE.get(model, model))


def _apart_by_commas(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[str]:
    paths = (path for value in values for path in value.split(",") if path)
    return [options.FILE.convert(path, parameter, ctx) for path in paths]


def _fitting(ctx: click.Context, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given; UsageError for one that is not the model's."""
    given = dict(chosen)
    defaults = {p.name: p.get_default(ctx) for p in ctx.command.params}
    for name, models in BELONGS.items():
        left_alone = chosen[name] in (defaults[name], ())
        by_default = ctx.get_parameter_source(name) is ParameterSource.DEFAULT and left_alone
        if chosen[name] is None or by_default:
            del given[name]
        elif chosen["model"] not in models:
            flag = next(p.opts[0] for p in ctx.command.params if p.name == name)
            raise click.UsageError(f"{flag} is for --model {' or '.join(models)}, not for {chosen['model']}")
    return given


@options.command(
    "train",
    short_help="Learn a vocabulary from text.",
    examples=(
        "tokkit train corpus.txt -o tok.json --vocab-size 32000",
        "tokkit train corpus.txt -o bert.json --model wordpiece --vocab-size 30522",
        "tokkit train 'data/*.txt.gz' -o t5.model --model unigram --vocab-size 8000",
        "tokkit train --counts counts/ -o tok.json --vocab-size 32000",
        "tokkit train en=en.txt de=de/ th=th/ -o tok.json --weight de=2,th=5",
    ),
    groups=GROUPS,
)
@click.argument("inputs", nargs=-1, type=options.NAMED, metavar="[[NAME=]INPUT]...")
@click.option("-o", "--output", "output", type=options.OUTPUT, metavar="FILE", help="Where to write; - is stdout.")
@click.option(
    "--model",
    default="bbpe",
    callback=_known_model,
    metavar="MODEL",
    help="The model: bbpe (byte-level BPE), bpe (classic, over characters), wordpiece (as BERT's), word (whole words), "
    "char (characters, or bytes), hybrid (whole words, and characters or bytes for those out of vocabulary), or one of "
    "SentencePiece's: unigram, sp-bpe, sp-word, sp-char.",
)
@click.option("--model_type", hidden=True, callback=_known_model_type)
@click.option(
    "--vocab-size",
    "--vocab_size",
    "vocab_size",
    multiple=True,
    callback=options.sizes,
    metavar="N[,N...]",
    show_default="32000; for the bundled corpus 2000, of wordpiece and SentencePiece's models 4000, of hybrid 8000",
    help="Size of the vocabulary, including special tokens and the 256 bytes or the characters. For several sizes "
    "(1000,4000, or repeat the option) the model is trained once; the size is in the name of each file.",
)
@click.option(
    "--pattern",
    "--split",
    "pattern",
    callback=options.not_empty,
    metavar="NAME|REGEX",
    default="gpt2",
    help="bbpe: how text is split into pretokens, whose ends no token crosses: gpt2, r50k, cl100k, o200k, llama3, "
    "qwen2, qwen3.5, tekken, kimi-k2, deepseek-v3, none, or a pattern. bpe: whitespace (default) or punctuation. "
    "word, hybrid: punctuation (default: splits at white space, and each punctuation character is a word), whitespace, "
    "a name as for bbpe (words keep their spaces), or a pattern that matches the words.",
)
@click.option(
    "--special-token",
    "special_token",
    multiple=True,
    metavar="TEXT",
    show_default="none; of wordpiece [PAD] [UNK] [CLS] [SEP] [MASK]; of word, char and hybrid [UNK]",
    help="A special token; repeat for more. For SentencePiece's models, a control symbol after <unk>, <s> and </s>.",
)
@click.option(
    "--min-frequency",
    type=click.IntRange(min=0),
    show_default="0; of wordpiece 2; of word, char and hybrid 1",
    help="Minimum count of pairs to merge, or of words or characters to keep.",
)
@click.option(
    "--max-token-length", type=click.IntRange(min=2), metavar="BYTES", help="bbpe: make no token longer than this."
)
@click.option(
    "--state",
    type=options.Writes(),
    metavar="FILE",
    help="bbpe, bpe, wordpiece, unigram, sp-bpe: save the training here once the text is counted, while it runs, and "
    "at its end.",
)
@click.option(
    "--state-every",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="1000; of unigram 1",
    help="bbpe, bpe, wordpiece, unigram, sp-bpe: after how many merges, or rounds of unigram, --state is saved.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="bbpe, bpe, wordpiece, unigram, sp-bpe: go on from --state, if it is there, with equal results; of all but "
    "unigram also to a larger vocabulary.",
)
@click.option(
    "--max-memory",
    type=options.Bytes(),
    metavar="SIZE",
    show_default="no bound",
    help="bbpe, wordpiece, unigram, sp-bpe: count text in files in TMPDIR, and keep distinct words and "
    "their places in mapped files there, if they need more, as 4GB. bpe: an error then.",
)
@click.option(
    "--score",
    type=click.Choice(["frequency", "likelihood", "pmi"]),
    show_default="frequency",
    help="wordpiece: merge by frequency (as tokenizers), gain in likelihood, or pmi (the ratio that courses teach).",
)
@click.option(
    "--limit-alphabet",
    type=click.IntRange(min=0),
    metavar="N",
    show_default="no limit",
    help="wordpiece, hybrid: keep the N most frequent characters; others are unknown (wordpiece: their words too).",
)
@click.option(
    "--initial-alphabet", metavar="TEXT", help="wordpiece: characters that are always tokens, whatever the limit."
)
@click.option(
    "--prefix",
    metavar="TEXT",
    show_default="##",
    help="wordpiece, hybrid: prefix of tokens inside a word.",
)
@click.option(
    "--lowercase/--no-lowercase",
    default=None,
    show_default="wordpiece: lowercase; others: no-lowercase",
    help="bpe, wordpiece, word, hybrid: lowercase all text.",
)
@click.option(
    "--strip-accents/--no-strip-accents",
    default=None,
    show_default="as --lowercase",
    help="wordpiece: remove accents.",
)
@click.option(
    "--chinese-chars/--no-chinese-chars",
    "handle_chinese_chars",
    default=None,
    show_default="chinese-chars",
    help="wordpiece: treat each Chinese character as a word.",
)
@click.option(
    "--max-word-length",
    "max_input_chars_per_word",
    type=click.IntRange(min=0),
    metavar="CHARACTERS",
    show_default="100",
    help="wordpiece: longer words are encoded as unknown.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="bbpe, bpe: show each merge with its count, as a table. wordpiece: the first merges with scores and counts. "
    "unigram: the pieces that each round removed.",
)
@click.option(
    "--watch",
    type=options.Writes(),
    metavar="HTML",
    help="bbpe, bpe, unigram: write a page that shows each merge or round; the corpus is read once more.",
)
@click.option("--watch-text", metavar="TEXT", help="The text that the page of --watch cuts at each step.")
@click.option(
    "--word-end",
    type=click.Choice(["apart", "attached", "none"]),
    show_default="apart",
    help='bpe: "</w>" is a symbol (apart), part of the last character (attached: subword-nmt 0.2), or absent.',
)
@click.option("--suffix", metavar="TEXT", show_default="</w>", help="bpe: mark for the end of a word.")
@click.option(
    "--dropout",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="bpe: probability of skipping a merge, saved in the file; encode --dropout overrides it.",
)
@click.option(
    "--glossary", "glossaries", multiple=True, metavar="TEXT", help="bpe: text that is never split; repeat for more."
)
@click.option(
    "--unk-token",
    metavar="TEXT",
    show_default="[UNK]; of bpe none",
    help="bpe, wordpiece, word, char, hybrid: the token for unknown text.",
)
@click.option(
    "--level",
    type=click.Choice(["characters", "bytes"]),
    show_default="characters",
    help="char: what a token is; with bytes there are 256, and no unknown token.",
)
@click.option(
    "--fallback",
    type=click.Choice(["char", "byte"]),
    show_default="char",
    help="hybrid: how words out of vocabulary are spelt; with byte nothing is unknown.",
)
@click.option(
    "--unit",
    type=click.Choice(["line", "paragraph", "file"]),
    default="line",
    help="What a document is; no token crosses its end.",
)
@options.field
@options.threads
@click.option("--num_threads", type=click.IntRange(min=1), hidden=True)
@options.input_errors
@click.option(
    "--counts",
    type=options.FILE,
    metavar="FILE|FOLDER",
    help="Train on word counts instead: files of tokkit counts build, lines of word, tab and count, or a .json object "
    '{"word": count}.',
)
@mixing.weight
@mixing.temperature
@click.option(
    "--format",
    type=click.Choice(["tokenizer.json", "tiktoken", "sentencepiece", "gpt2"]),
    show_default="by the name of FILE",
    help="Format to write; gpt2 is a directory: vocab.json, merges.txt, added_tokens.json.",
)
@click.option(
    "--lossy",
    is_flag=True,
    help="Write the file even if its format changes the ids of some texts, and report the differences.",
)
@click.option("--input", multiple=True, callback=_apart_by_commas, hidden=True)
@click.option("--model_prefix", hidden=True)
@sentencepiece_options.sentencepiece
@options.force
@options.progress
@options.as_json
@click.pass_context
def command(ctx: click.Context, /, inputs: tuple[str, ...], input: list[str], json: bool, **chosen: Any) -> None:
    """Train a tokenizer on files, folders, globs, URLs (that fsspec reads), or - for stdin.

    Files are text, .jsonl, .json, .csv, .tsv, .parquet or .arrow, plain or as .gz, .bz2, .xz or .zst.

    NAME is the source of an INPUT, a language for example; sources count as --weight or --temperature say.

    An option that begins with the names of models is for these alone, and an error with another.

    Without INPUT it trains on the small corpus that comes with tokkit and writes tokkit-demo.json, which it replaces
    only if that holds the same tokenizer (or with --force). The options of sentencepiece are understood as it writes
    them: --input, --model_prefix, --model_type=bpe, --byte_fallback=true.
    """
    from tokkit.cli import training
    from tokkit.progress import Progress

    chosen = sentencepiece_options.merged(chosen)
    paths = [*inputs, *input]
    given = _fitting(ctx, chosen)
    watch = given.pop("watch", None)
    job = training.plan(paths, given)
    if watch is not None:
        training.check_watched(job, watch)
    with Progress(chosen["progress"]) as progress:
        result = training.run(job, progress)
    if watch is not None:
        training.write_watched(job, watch, chosen["watch_text"])
    training.report(job, result, as_json=json)
