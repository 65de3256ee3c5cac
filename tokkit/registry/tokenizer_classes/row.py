"""`Row`: what is known of one tokenizer class of transformers, as data; `Given`: the arguments that one gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tokkit.definition import Definition
from tokkit.registry.tokenizer_classes.tokens import AddedToken

JSON = dict[str, Any]
Scored = list[tuple[str, float]]
"""Pieces of Unigram and their scores, in the order of their ids."""
Vocabulary = dict[str, int] | Scored | Any
"""Token → id, pieces with scores, or the packed table of a tokenizer.json."""

TYPES = ("input_ids", "token_type_ids", "attention_mask")
NO_TYPES = ("input_ids", "attention_mask")
PAIR = {"vocab_file": "vocab.json", "merges_file": "merges.txt"}
LINES = {"vocab_file": "vocab.txt"}
BASE_ARGUMENTS = frozenset((
    *("add_bos_token", "add_eos_token", "split_special_tokens", "clean_up_tokenization_spaces", "model_max_length"),
    *("max_len", "padding_side", "truncation_side", "model_input_names", "chat_template", "name_or_path", "verbose"),
    *("additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens", "added_tokens_decoder"),
    *("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", "pad_token_type_id"),
))  # fmt: skip
"""Arguments that every class honours."""
KEPT_ARGUMENTS = frozenset((
    *("tokenizer_class", "auto_map", "init_inputs", "special_tokens_map_file", "tokenizer_file", "vocab_file"),
    *("merges_file", "processor_class", "transformers_version", "backend", "is_local", "local_files_only", "errors"),
    *("spaces_between_special_tokens", "sp_model_kwargs", "unk_id", "device_map", "_commit_hash", "_from_auto"),
    "model_type",
    *("use_default_system_prompt", "legacy", "response_schema", "response_template", "chat_control_tokens", "url"),
    *("fast_tokenizer_files", "never_split", "do_basic_tokenize", "full_tokenizer_file", "files_loaded", "torch_dtype"),
    *("max_length", "stride", "truncation_strategy", "pad_to_multiple_of", "pad_id", "add_prefix_space"),
    *("from_slow", "tokenizer_type", "config", "use_fast", "proxies", "trust_remote_code", "do_lower_case"),
    *("remove_space", "trim_offsets", "keep_accents", "strip_accents", "tokenize_chinese_chars", "do_normalize"),
))  # fmt: skip
"""Arguments without an effect on a class that does not list them, in transformers too: they are kept as attributes."""


class Given(dict[str, Any]):
    """The arguments of a class: defaults, what its files say, what the caller says; and `vocab`, `merges`, `charsmap`.

    `charsmap` is base64, as in a tokenizer.json. `own` are the names of arguments that are not defaults.
    """

    own: frozenset[str] = frozenset()

    def text(self, role: str) -> str:
        """Return the text of a special token; "None" if it is not set, as transformers writes it."""
        return str(self.get(role))

    def stated(self, name: str, default: Any) -> Any:
        """Return an argument that the files or the caller give, or `default`, which may differ from the class's."""
        return self[name] if name in self.own else default

    def listed(self, name: str) -> list[Any]:
        """Return a list of tokens as a new list; [] for None."""
        return list(self.get(name) or ())


Template = tuple[str | list[str], str | list[str]]
"""Places for a text and for a pair: "cls $A sep:1", in roles, or in other tokens by their text after "="."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Languages:
    """The languages of a class for translation, whose tokens are put around texts.

    `source` and `target` are the defaults. `around` returns the template of a language's token, for a source or, with
    the last argument, for a target. `spell` makes the token of a language.
    """

    source: str | None
    around: Callable[[str, Given, bool], Template]
    target: str | None = None
    spell: Callable[[str], str] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a tokenizer class adds to its files.

    `roles` are special tokens by role, which are arguments too; a text that is given for a role with an AddedToken
    gets the rules of that token. `arguments` are the others that change the tokenizer, with their defaults. `files`
    are the names of its vocabulary files. `model` is the type of model it makes of them ("" for the file's own).
    `pieces` makes the vocabulary from the pieces of a .model. `parts` returns the stages and the model's fields, in
    the form of a tokenizer.json; without it, and with `keeps_file`, the tokenizer.json is used as it is. `template`
    is what is put around texts; without it, bos and eos as `add_bos_token` and `add_eos_token` say. With
    `template_first`, these arguments and a tokenizer.json come before `template`. `extra` are the extra special
    tokens if none are given, or with `adds_extra` also then. `finish` has the rest: what happens after the special
    tokens are known. `scripted` returns the definition, without added tokens, of a class that is Python code in
    transformers; `numbers` the ids of special tokens that its files do not number, if it does not count all tokens
    for them; `target` the same for the texts of the other language, if they have a vocabulary of their own.
    `word_end` is replaced by a space in decoded text; with `groups_repeats`, repeated ids and padding are left out
    of it. `refused` says why tokkit cannot be exact, and the way out; `inputs_too` which other inputs a class takes
    there; with `inputs_always`, it encodes a text there only together with them.
    """

    roles: Mapping[str, AddedToken | str | None] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    pieces: Callable[[Given, Scored], Vocabulary] | None = None
    parts: Callable[[Given], JSON] | None = None
    template: Callable[[Any, Given], Template | JSON | None] | Template | None = None
    extra: Callable[[Given], list[Any]] | None = None
    adds_extra: bool = False
    finish: Callable[[Any, Given], None] | None = None
    scripted: Callable[[Given, Mapping[str, str]], Definition] | None = None
    numbers: Callable[[Any, Given, list[str]], dict[str, int]] | None = None
    target: Callable[[Given, Mapping[str, str], Any], Definition] | None = None
    languages: Languages | None = None
    inputs: tuple[str, ...] = NO_TYPES
    side: str = "right"
    pad_type_id: int = 0
    word_end: str = ""
    groups_repeats: bool = False
    keeps_file: bool = False
    template_first: bool = False
    refused: str = ""
    inputs_too: str = ""
    inputs_always: bool = False
