"""`tokkit train`: trains a tokenizer on a corpus and writes its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from tokkit.cli import mixing, options, sentencepiece_options
from tokkit.cli.help import Command
from tokkit.cli.train_options import BELONGS, GROUPS, MODELS


def _known_model(_: click.Context, __: click.Parameter, model: str) -> str:
    if model not in MODELS:
        raise click.BadParameter(f"{model!r} is not a model that can be trained; choose from {', '.join(MODELS)}")
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
    """Return the options that were given; UsageError for one that does not apply to the model."""
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


class Train(Command):
    """A command that takes sentencepiece's switches without a value, as spm_train does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        return super().parse_args(ctx, sentencepiece_options.with_values(args))


@options.command(
    "train",
    cls=Train,
    short_help="Train a tokenizer on text.",
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
    help="The model: bbpe (byte-level BPE), bpe (classic, on characters), wordpiece (as BERT uses), word (whole "
    "words), char (characters or bytes), hybrid (whole words; out-of-vocabulary words as characters or bytes), or a "
    "SentencePiece model: unigram, sp-bpe, sp-word, sp-char.",
)
@click.option("--model_type", hidden=True, callback=_known_model_type)
@click.option(
    "--vocab-size",
    "--vocab_size",
    "vocab_size",
    multiple=True,
    callback=options.sizes,
    metavar="N[,N...]",
    show_default="32000; on the bundled corpus 2000, for wordpiece and SentencePiece models 4000, for hybrid 8000",
    help="Size of the vocabulary, including special tokens and the 256 bytes or the characters. For several sizes "
    "(1000,4000, or repeat the option), the model is trained once and each file name gets its size.",
)
@click.option(
    "--pattern",
    "--split",
    "pattern",
    callback=options.not_empty,
    metavar="NAME|REGEX",
    default="gpt2",
    help=f"bbpe: how text is split into pretokens, whose ends no token crosses: {options.PATTERNS}. bpe: whitespace "
    "(default) or punctuation. word, hybrid: punctuation (default: split at white space, and make each punctuation "
    "character a word), whitespace, a name as for bbpe (words keep their spaces), or a regular expression that "
    "matches words.",
)
@click.option(
    "--special-token",
    "special_token",
    multiple=True,
    metavar="TEXT",
    show_default="none; for wordpiece [PAD] [UNK] [CLS] [SEP] [MASK]; for word, char and hybrid [UNK]",
    help="A special token; repeat for more. For SentencePiece models, a control symbol after <unk>, <s> and </s>.",
)
@options.special_in_training
@click.option(
    "--forbidden-token",
    "forbidden_tokens",
    multiple=True,
    metavar="TEXT",
    help="bbpe, bpe, wordpiece, word, hybrid, unigram, sp-bpe, sp-word: learn no token that has this text in it; "
    "repeat for more. Bytes, single characters and special tokens stay.",
)
@click.option(
    "--min-frequency",
    type=click.IntRange(min=0),
    show_default="0; for wordpiece 2; for word, char and hybrid 1",
    help="Minimum count of pairs to merge, or of words or characters to keep.",
)
@click.option(
    "--max-token-length", type=click.IntRange(min=2), metavar="BYTES", help="bbpe: make no token longer than this."
)
@click.option(
    "--state",
    type=options.Writes(),
    metavar="FILE",
    help="bbpe, bpe, wordpiece, unigram, sp-bpe: save the state of the training in this file: after counting, every "
    "--state-every steps, and at the end.",
)
@click.option(
    "--state-every",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="1000; for unigram 1",
    help="bbpe, bpe, wordpiece, unigram, sp-bpe: save --state after every N merges (unigram: rounds).",
)
@click.option(
    "--resume",
    is_flag=True,
    help="bbpe, bpe, wordpiece, unigram, sp-bpe: continue from --state if it exists; the result is the same. Except "
    "for unigram, --vocab-size may be larger than before.",
)
@click.option(
    "--max-memory",
    type=options.Bytes(),
    metavar="SIZE",
    show_default="no bound",
    help="bbpe, wordpiece, unigram, sp-bpe: limit of memory, such as 4GB; beyond it, counts, words and their "
    "positions are kept in files in TMPDIR. bpe: beyond it, stop with an error.",
)
@click.option(
    "--score",
    type=click.Choice(["frequency", "likelihood", "pmi"]),
    show_default="frequency",
    help="wordpiece: choose merges by frequency (as tokenizers does), by gain in likelihood, or by pmi (pointwise "
    "mutual information, the score of textbooks).",
)
@click.option(
    "--limit-alphabet",
    type=click.IntRange(min=0),
    metavar="N",
    show_default="no limit",
    help="wordpiece, hybrid: keep the N most frequent characters; the others are unknown (wordpiece: words with them "
    "too).",
)
@click.option(
    "--initial-alphabet",
    metavar="TEXT",
    help="wordpiece: characters that are always tokens, even beyond --limit-alphabet.",
)
@click.option(
    "--prefix",
    metavar="TEXT",
    show_default="##",
    help="wordpiece, hybrid: prefix of tokens that continue a word.",
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
    help="wordpiece: longer words are encoded as the unknown token.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="bbpe, bpe: show a table of merges with their counts. wordpiece: the first merges "
    "with scores and counts. unigram: the pieces that each round removed.",
)
@click.option(
    "--watch",
    type=options.Writes(),
    metavar="HTML",
    help="bbpe, bpe, unigram: write a page (HTML) that shows each merge or round; the corpus is read a second time.",
)
@click.option("--watch-text", metavar="TEXT", help="The text that the page of --watch tokenizes at each step.")
@click.option(
    "--word-end",
    type=click.Choice(["apart", "attached", "none"]),
    show_default="apart",
    help="bpe: the end-of-word mark </w> is a symbol of its own (apart), attached to the last character (attached, as "
    "in subword-nmt 0.2), or not used (none).",
)
@click.option("--suffix", metavar="TEXT", show_default="</w>", help="bpe: the end-of-word mark.")
@click.option(
    "--dropout",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="bpe: probability of skipping a merge (BPE-dropout), saved in the file; encode --dropout overrides it.",
)
@click.option(
    "--glossary", "glossaries", multiple=True, metavar="TEXT", help="bpe: text that is never split; repeat for more."
)
@click.option(
    "--unk-token",
    metavar="TEXT",
    show_default="[UNK]; for bpe none",
    help="bpe, wordpiece, word, char, hybrid: the token for unknown text.",
)
@click.option(
    "--level",
    type=click.Choice(["characters", "bytes"]),
    show_default="characters",
    help="char: tokens are characters, or the 256 bytes (then there is no unknown token).",
)
@click.option(
    "--fallback",
    type=click.Choice(["char", "byte"]),
    show_default="char",
    help="hybrid: encode out-of-vocabulary words as characters or as bytes (then nothing is unknown).",
)
@click.option(
    "--unit",
    type=click.Choice(["line", "paragraph", "file"]),
    show_default="file for bbpe, and for word and hybrid with a pattern; else line",
    help="What a document is in text files; no token crosses its end. Tokens may hold line ends with file.",
)
@options.field
@options.threads
@click.option("--num_threads", type=click.IntRange(min=1), hidden=True)
@options.input_errors
@click.option(
    "--counts",
    type=options.FILE,
    metavar="FILE|FOLDER",
    help="Train on word counts instead of INPUT: files of tokkit counts build, lines of word, tab and count, or a "
    '.json object {"word": count}.',
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
    """Train a tokenizer on INPUT: files, folders, globs, URLs (read with fsspec), or - for stdin.

    Files are text, .jsonl, .json, .csv, .tsv, .parquet or .arrow, also compressed as .gz, .bz2, .xz or .zst.

    NAME is the source of an INPUT, for example a language; --weight and --temperature set how much sources count.

    Options whose help begins with names of models apply only to these models.

    Without INPUT, it trains on the small bundled corpus and writes tokkit-demo.json. The flags of sentencepiece's
    spm_train are accepted too: --input, --model_prefix (which writes a .vocab as well), --model_type=bpe,
    --byte_fallback.
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
