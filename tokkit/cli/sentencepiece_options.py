"""The options of `tokkit train` for SentencePiece models, named as in sentencepiece."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import Any

import click

from tokkit.cli import options
from tokkit.escaping import show

MODELS = ("unigram", "sp-bpe", "sp-word", "sp-char")
BY_MODEL_TYPE = {"bpe": "sp-bpe", "word": "sp-word", "char": "sp-char"}
"""sentencepiece's names of models → our names, where they differ."""
ALIAS = "_as_theirs"
_SWITCHES = {
    "add_dummy_prefix": (True, "Put a space before each text."),
    "remove_extra_whitespaces": (True, "Replace runs of spaces by one space, and strip both ends."),
    "split_by_unicode_script": (True, "Never mix scripts in a piece."),
    "split_by_number": (True, "Never mix digits and letters in a piece."),
    "split_digits": (False, "Make each digit a piece."),
    "split_by_whitespace": (True, "Do not allow spaces inside a piece."),
    "treat_whitespace_as_suffix": (False, "Let pieces end with the space instead of beginning with it."),
    "allow_whitespace_only_pieces": (False, "Allow pieces of several spaces."),
    "byte_fallback": (False, "Add the 256 bytes as pieces, and encode unknown characters as bytes."),
    "hard_vocab_limit": (True, "Fail if the corpus yields fewer pieces than requested."),
    "shuffle_input_sentence": (True, "Take a random sample of the lines, not the first ones."),
    "train_extremely_large_corpus": (False, "Accepted without effect: tokkit has no such limit."),
    "use_all_vocab": (False, "Keep all characters; for sp-word all words, whatever --vocab-size."),
}
_IDS = {"unk": 0, "bos": 1, "eos": 2, "pad": -1}
_PIECES = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
SWITCHES = tuple(_SWITCHES)
OF_ALL = (
    *("character_coverage", "normalization_rule_name", "normalization_rules", *SWITCHES),
    *("input_sentence_size", "random_seed", "max_sentencepiece_length", "max_sentence_length"),
    *("user_defined_symbols", "control_symbols", "required_chars", "input_format"),
    "pretokenization_delimiter",
    *(f"{name}_id" for name in _IDS),
    *(f"{name}_piece" for name in _IDS),
    "unk_surface",
)
OF_UNIGRAM = (
    *("seed_sentencepiece_size", "seed_sentencepieces_file", "shrinking_factor", "num_sub_iterations", "m_step"),
    "token_cost",
)
BELONGS = {
    **dict.fromkeys(OF_ALL, MODELS),
    **dict.fromkeys(OF_UNIGRAM, ("unigram",)),
}
"""Option → the models that it applies to."""
WITHOUT_EFFECT = ("self_test_sample_size", "self_test_samples", "accept_language")
"""sentencepiece's flags that change nothing, there and here."""
REFUSED = (
    *("enable_differential_privacy", "differential_privacy_noise_level", "differential_privacy_clipping_threshold"),
    "auto_character_coverage",
)
"""sentencepiece's flags that must have their defaults."""
_BOOLEANS = {"true", "t", "1", "yes", "y", "on", "false", "f", "0", "no", "n", "off"}


def _rules(_: click.Context, __: click.Parameter, path: str | None) -> dict[str, str] | None:
    """Read the rules of a TSV."""
    if path is None:
        return None
    from tokkit.errors import FormatError
    from tokkit.normalizers.sentencepiece_rules import read_tsv

    try:
        with open(path, encoding="utf-8") as file:
            return read_tsv(file.read())
    except OSError as error:
        raise click.BadParameter(f"{show(path)}: {error.strerror}") from None
    except (FormatError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{show(path)}: {error}") from None


def _listed(_: click.Context, __: click.Parameter, values: Sequence[str]) -> list[str] | None:
    """Return the symbols of all values: lists separated by commas; a symbol with a comma is in quotes."""
    try:
        return [symbol for row in csv.reader(values) for symbol in row] if values else None
    except csv.Error as error:
        raise click.BadParameter(f"{','.join(values)!r}: write symbols separated by commas ({error})") from None


def _option(name: str, help: str, default: object, **attributes: Any) -> Callable[..., Any]:
    models = ", ".join(BELONGS[attributes.get("dest", name)])
    dest = attributes.pop("dest", name)
    house = name.replace("_", "-")
    flags = [f"--{house}", f"--{name}"] if house != name else [f"--{house}"]
    return click.option(*flags, dest, show_default=str(default), help=f"{models}: {help}", **attributes)


def _switch(name: str) -> list[Callable[..., Any]]:
    """Return the two options of a switch: --name/--no-name, and sentencepiece's --name=true."""
    default, help = _SWITCHES[name]
    house = name.replace("_", "-")
    said = house if default else f"no-{house}"
    text = f"{', '.join(BELONGS[name])}: {help}"
    return [
        click.option(f"--{house}/--no-{house}", name, default=None, show_default=said, help=text),
        click.option(f"--{name}", name + ALIAS, type=click.BOOL, hidden=True),
    ]


def with_values(args: Sequence[str]) -> list[str]:
    """Return arguments in which sentencepiece's switches have a value: "--byte_fallback" alone is true.

    >>> with_values(["--byte_fallback", "text.txt", "--split_digits", "false"])
    ['--byte_fallback=true', 'text.txt', '--split_digits', 'false']
    """
    bare = {f"--{name}" for name in (*SWITCHES, "vocabulary_output_piece_score", REFUSED[0], REFUSED[-1])}
    n = args.index("--") if "--" in args else len(args)
    named = [
        f"{arg}=true" if arg in bare and (k + 1 >= n or args[k + 1].lower() not in _BOOLEANS) else arg
        for k, arg in enumerate(args[:n])
    ]
    return [*named, *args[n:]]


def _log_level(_: click.Context, __: click.Parameter, level: int | None) -> None:
    from tokkit.compat.sentencepiece.settings import set_min_log_level

    if level is not None:
        set_min_log_level(level)


def _refused(_: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Refuse a flag of sentencepiece that is not at its default."""
    from tokkit.compat.sentencepiece.flags import check_refused
    from tokkit.errors import OptionError

    try:
        if value is not None and parameter.name is not None:
            check_refused(parameter.name, value)
    except OptionError as error:
        raise click.BadParameter(str(error)) from None


def _hidden() -> list[Callable[..., Any]]:
    """Return sentencepiece's flags that are no options of the models."""
    without: dict[str, Any] = {"hidden": True, "expose_value": False}
    return [
        click.option("--minloglevel", type=int, callback=_log_level, **without),
        click.option("--vocabulary_output_piece_score", type=click.BOOL, default=True, hidden=True),
        *(click.option(f"--{name}", **without) for name in WITHOUT_EFFECT),
        *(click.option(f"--{name}", callback=_refused, **without) for name in REFUSED),
    ]


def _all() -> list[Callable[..., Any]]:
    n = click.IntRange(min=1)
    rules = "nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf (cf: letters in lower case) or identity."
    found = [
        _option(
            "character_coverage",
            "Share of the characters in the corpus that the vocabulary must cover.",
            0.9995,
            type=float,
        ),
        _option("normalization_rule_name", f"How text is normalized: {rules}", "nmt_nfkc", metavar="NAME"),
        _option(
            "normalization_rule_tsv",
            "File of normalization rules; a line is code points in hexadecimal, a tab, and their replacement.",
            "none",
            dest="normalization_rules",
            type=options.FILE,
            callback=_rules,
            metavar="FILE",
        ),
    ]
    for name in SWITCHES:
        found += _switch(name)
    found += [
        _option("max_sentencepiece_length", "Maximum length of a piece.", 16, type=n, metavar="CHARACTERS"),
        _option("max_sentence_length", "Skip longer lines; 0 keeps all.", 4192, type=int, metavar="BYTES"),
        _option("input_sentence_size", "Number of lines to train on; 0 is all.", 0, type=click.IntRange(min=0)),
        _option("random_seed", "Seed for the choice of lines.", 0, type=click.IntRange(min=0)),
        _option("user_defined_symbols", "Pieces that are never split: A,B.", "none", **_symbols()),
        _option("control_symbols", "Pieces that text is never encoded to: A,B.", "none", **_symbols()),
        _option("required_chars", "Characters that are always in the vocabulary.", "none", metavar="TEXT"),
        _option(
            "input_format",
            "text, or tsv: each line is a text, a tab, and how often it counts.",
            "text",
            type=click.Choice(["text", "tsv"]),
        ),
        _option(
            "pretokenization_delimiter",
            "A text that no piece crosses and none has (unigram and sp-bpe only).",
            "none",
            metavar="TEXT",
        ),
    ]
    found += [_option(f"{k}_id", f"The id of {_PIECES[k]}; -1 for none.", id_, type=int) for k, id_ in _IDS.items()]
    found += [
        _option(f"{k}_piece", f"The text of the {k} piece.", piece, metavar="TEXT") for k, piece in _PIECES.items()
    ]
    return [
        *found,
        _option("unk_surface", "The text that <unk> decodes to.", "' \u2047 '", metavar="TEXT"),
        _option("seed_sentencepiece_size", "Number of seed substrings that training starts from.", 1_000_000, type=n),
        _option(
            "seed_sentencepieces_file",
            "Start from the pieces of this file instead: lines of a piece, a tab and its count.",
            "none",
            type=options.FILE,
            metavar="FILE",
        ),
        _option("shrinking_factor", "Share of the pieces that each round keeps.", 0.75, type=float),
        _option("num_sub_iterations", "EM steps in each round.", 2, type=n),
        _option(
            "m_step",
            "How EM turns expected counts into probabilities: with digamma, as sentencepiece does, or from the plain "
            "counts.",
            "digamma",
            type=click.Choice(["digamma", "counts"]),
        ),
        _option("token_cost", "Cost of one more token, in nats, when pieces are chosen for removal.", 6, type=float),
        *_hidden(),
    ]


def _symbols() -> dict[str, Any]:
    return {"multiple": True, "callback": _listed, "metavar": "A[,B...]"}


def sentencepiece(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add all these options to a command."""
    for option in reversed(_all()):
        function = option(function)
    return function


def merged(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the options with one value for each switch, under tokkit's names."""
    found = {name: value for name, value in chosen.items() if not name.endswith(ALIAS)}
    for name in SWITCHES:
        if (theirs := chosen[name + ALIAS]) is not None:
            found[name] = theirs
    if (theirs := found.pop("model_type")) is not None:
        found["model"] = theirs
    return found
