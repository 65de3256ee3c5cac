"""Which setting has priority: flags, environment or files; and what the help says about it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import tokkit
from tokkit.cli import COMMANDS, main


@pytest.fixture
def size(run, monkeypatch):
    """(arguments before and behind the command) → the size of what `tokkit train` makes of them."""
    Path("corpus.txt").write_text("low lower lowest newer newest wider, the quick brown fox\n" * 5)

    def train(*behind: object, before: tuple[object, ...] = ()) -> int:
        out = run(*before, "train", "corpus.txt", "-o", "tok.json", "--force", *behind)
        assert out.exit_code == 0, out.stderr
        return len(tokkit.load("tok.json").vocab)

    return train


def test_a_flag_beats_the_environment_which_beats_the_file(size, monkeypatch) -> None:
    Path("tokkit.toml").write_text("[train]\nvocab_size = 260\nmin-frequency = 0\n[encode]\noutput = 'json'\n")
    assert size(before=("--config", "tokkit.toml")) == 260
    assert size("--config", "tokkit.toml") == 260
    monkeypatch.setenv("TOKKIT_TRAIN_VOCAB_SIZE", "261")
    assert size("--config", "tokkit.toml") == 261
    assert size("--config", "tokkit.toml", "--vocab-size", 262) == 262


def test_the_environment_names_the_file_too(size, monkeypatch) -> None:
    Path("tokkit.toml").write_text("[train]\nvocab_size = 260\n")
    monkeypatch.setenv("TOKKIT_CONFIG", "tokkit.toml")
    assert size() == 260


def test_a_list_in_the_file_is_an_option_given_more_than_once(size) -> None:
    Path("tokkit.toml").write_text('[train]\nspecial_token = ["<a>", "<b>"]\nvocab_size = 270\n')
    assert size("--config", "tokkit.toml") == 270
    assert dict(tokkit.load("tok.json").special_tokens) == {"<a>": 0, "<b>": 1}
    Path("tokkit.toml").write_text('[train]\nspecial_token = "<a>"\nvocab_size = 270\n')
    size("--config", "tokkit.toml")
    assert dict(tokkit.load("tok.json").special_tokens) == {"<a>": 0}


def test_settings_are_called_as_the_long_flags_are(run, tokenizer, monkeypatch) -> None:
    Path("a.txt").write_text("low lower")
    Path("t.toml").write_text(
        '[train]\nformat = "gpt2"\nsplit = "none"\njson = true\nmax-token-length = 2\n'
        '[encode]\noutput = "json"\noutput-file = "out.ids"\n[decode]\ninput = "json"\n[inspect]\ntokens = true\n'
    )
    config = ("--config", "t.toml")
    out = run("train", "a.txt", "-o", "model", "--pattern", "gpt2", *config)
    assert json.loads(out.stdout)["pattern"] == "gpt2"
    assert Path("model/vocab.json").exists()
    out = run("train", "a.txt", "-o", "m.json", "--format", "tokenizer.json", *config)
    assert json.loads(out.stdout)["pattern"] == "none"
    assert run("encode", tokenizer, "a.txt", *config).stdout == ""
    assert run("decode", tokenizer, "out.ids", "--unit", "file", *config).stdout == "low lower"
    assert run("inspect", tokenizer, *config).stdout.startswith("0\t")

    monkeypatch.setenv("TOKKIT_COUNT_JSON", "1")
    assert json.loads(run("count", tokenizer, "a.txt").stdout)["total"] > 0
    monkeypatch.setenv("TOKKIT_ENCODE_OUTPUT_FILE", "env.ids")
    assert run("encode", tokenizer, "a.txt").exit_code == 0
    assert Path("env.ids").exists()
    monkeypatch.setenv("TOKKIT_TRAIN_FORMAT", "gpt2")
    monkeypatch.setenv("TOKKIT_TRAIN_MODEL_TYPE", "bbpe")
    assert run("train", "a.txt", "-o", "folder").exit_code == 0
    assert Path("folder/merges.txt").exists()


def test_every_flag_and_alias_may_be_set(run) -> None:
    with click.Context(main) as ctx:
        for name in COMMANDS:
            command = main.get_command(ctx, name)
            assert command is not None
            for parameter in command.params:
                flags = [flag for flag in parameter.opts if flag.startswith("--")]
                assert not isinstance(parameter, click.Option) or flags, (name, parameter.name)
                for flag in flags if isinstance(parameter, click.Option) else ():
                    assert f"TOKKIT_{name}_{flag[2:]}".upper().replace("-", "_") in (parameter.envvar or ())


def test_an_alias_in_the_environment_is_read(size, monkeypatch) -> None:
    monkeypatch.setenv("TOKKIT_TRAIN_SPLIT", "none")
    size("--vocab-size", 257)
    assert tokkit.load("tok.json").definition.pretokenizer.pattern is None


def test_an_unknown_key_is_answered_with_the_keys_there_are(run) -> None:
    Path("t.toml").write_text("[train]\nformat_ = 'gpt2'\n")
    said = run("train", "a.txt", "-o", "x.json", "--config", "t.toml").stderr.replace("\n", " ")
    for key in ("format", "json", "split", "pattern", "vocab_size"):
        assert f" {key}," in said or f" {key} " in said, key
    assert "model_prefix" not in said
    Path("t.toml").write_text("[train]\nsplit = 'none'\npattern = 'gpt2'\n")
    out = run("train", "a.txt", "-o", "x.json", "--config", "t.toml")
    assert out.exit_code == 2
    assert "pattern twice" in out.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[train]\nvocabsize = 1\n", "vocabsize"),
        ("[trian]\nvocab_size = 1\n", "trian"),
        ("vocab_size = 1\n", "vocab_size"),
        ("train = 1\n", "[train]"),
        ("[train\n", "TOML"),
        ("[train]\nvocab_size = 'x'\n", "vocab-size"),
        ("[train]\nunit = 'word'\n", "unit"),
        ("[decode]\nnope = 1\n", "nope"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_wrong_file_is_wrong_usage_and_names_the_key(run, content, said, first) -> None:
    Path("t.toml").write_text(content)
    Path("corpus.txt").write_text("low")
    config = ("--config", "t.toml")
    args = ("train", "corpus.txt", "-o", "x.json")
    out = run(*config, *args) if first else run(*args, *config)
    assert out.exit_code == 2
    assert said in out.stderr


def test_a_config_that_is_not_there_is_wrong_usage(run) -> None:
    assert run("--config", "absent.toml", "info").exit_code == 2


def test_every_command_has_help_that_says_its_defaults(run) -> None:
    for name in COMMANDS:
        out = run(name, "--help")
        assert out.exit_code == 0
        assert "Usage: tokkit " + name in out.stdout
    assert "[default: gpt2]" in " ".join(run("train", "--help").stdout.split())  # wherever lines break
    assert "32000" in run("train", "--help").stdout


def test_every_command_of_the_list_exists_and_says_what_it_is_for(run) -> None:
    out = run("--help")
    assert out.exit_code == 0
    with click.Context(main) as ctx:
        for name in COMMANDS:
            command = main.get_command(ctx, name)
            assert command is not None
            assert command.get_short_help_str() in out.stdout
            for parameter in command.params:
                if isinstance(parameter, click.Option):
                    assert parameter.help or parameter.hidden, (name, parameter.name)


def test_the_version_is_the_packages(run) -> None:
    assert run("--version").stdout == f"tokkit {tokkit.__version__}\n"


def test_an_unknown_command_or_option_is_wrong_usage(run) -> None:
    assert run("frobnicate").exit_code == 2
    assert run("train", "--frobnicate").exit_code == 2
    assert run("encode").exit_code == 2
