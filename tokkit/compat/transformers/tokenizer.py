"""`PreTrainedTokenizerFast`: tokkit's tokenizer with the calls of transformers' fast tokenizers."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tokkit.compat.transformers import classes, loading, training
from tokkit.compat.transformers.lengths import UNLIMITED
from tokkit.compat.transformers.saving import Save
from tokkit.compat.transformers.settings import roles_of
from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.postprocessors.template import Template

if TYPE_CHECKING:
    from tokkit.compat import tokenizers

T = TypeVar("T", bound="PreTrainedTokenizerFast")


class PreTrainedTokenizerFast(Save):
    """A tokenizer with the interface of transformers' fast tokenizers; it is not a subclass of them.

    `tokenizer_object` is a tokenizer of tokkit, tokenizers or transformers, `tokenizer_file` the path of a
    tokenizer.json. GPT2Tokenizer, RobertaTokenizer, BertTokenizer and LlamaTokenizer can be made from `vocab` and
    `merges`, objects or paths, with the same arguments as in transformers. Other arguments are settings of a
    tokenizer_config.json: roles (`pad_token="[PAD]"`), `extra_special_tokens`, `model_max_length`, `padding_side`,
    `truncation_side`, `model_input_names`, `chat_template`; unknown ones are kept. ValueError without a tokenizer.

    >>> import tokkit
    >>> trained = tokkit.train({"low": 3, "lower": 2}, model="word")
    >>> tok = PreTrainedTokenizerFast(tokenizer_object=trained, pad_token="[PAD]")
    >>> tok(["low", "lower low"], padding=True, return_tensors="np").input_ids.tolist()
    [[1, 3], [2, 1]]
    """

    assumed = classes.Assumed()
    is_fast = True
    slow_tokenizer_class = None
    backend = "tokenizers"
    vocab_files_names: ClassVar = {"tokenizer_file": "tokenizer.json", "vocab_file": "tokenizer.model"}

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        *,
        tokenizer_object: Any = None,
        tokenizer_file: Any = None,
        **settings: Any,
    ) -> None:
        super().__setattr__("_roles", {})
        super().__setattr__("_extra", [])
        if tokenizer_object is not None:
            definition = loading.definition_of(tokenizer_object)
        elif tokenizer_file is not None and (path := Path(tokenizer_file)).is_file():
            definition = loading.definition_in(path, settings)
        elif vocab is not None or "vocab_file" in settings:
            self._make(vocab, merges, settings)
            return
        else:
            raise OptionError("there is no tokenizer: pass tokenizer_object=, or the path of a file as tokenizer_file=")
        self._set_up(definition, settings)

    def _make(self, vocab: Any, merges: Any, settings: dict[str, Any]) -> None:
        """Build the class's tokenizer from a vocabulary and merges, or from their files."""
        from tokkit.compat.transformers.constructors import MAKERS

        maker = MAKERS.get(classes.AS.get(type(self).__name__, type(self).__name__))
        if maker is None:
            raise OptionError(
                f"{type(self).__name__} cannot be made from a vocabulary, only {', '.join(MAKERS)} can; pass "
                "tokenizer_object=, or the path of a file as tokenizer_file="
            )
        files = {"vocab": settings.get("vocab_file"), "merges": settings.get("merges_file")}
        given = {**settings, "vocab": vocab or files["vocab"], "merges": merges or files["merges"]}
        self._set_up(loading.definition_of(maker.make(given)), settings)
        if maker.around is not None:
            self.backend_tokenizer.post_processor = maker.around(self, given)

    def _set_up(self, definition: Definition, settings: dict[str, Any]) -> None:
        self.init_kwargs = dict(settings)
        self.init_inputs: tuple[Any, ...] = ()
        self.deprecation_warnings: dict[str, bool] = {}
        self.verbose = bool(settings.get("verbose", False))
        self.name_or_path = settings.get("name_or_path", "")
        self._class_name = settings.get("tokenizer_class") or self._saved_as()
        self.model_max_length = settings.get("model_max_length", settings.get("max_len", UNLIMITED)) or UNLIMITED
        cut, fill = definition.truncation, definition.padding
        self.padding_side = settings.get("padding_side", fill.direction if fill else self.assumed.side)
        self.truncation_side = settings.get("truncation_side", cut.direction if cut else "right")
        for name in ("padding_side", "truncation_side"):
            if getattr(self, name) not in ("left", "right"):
                raise OptionError(f'{name} is {getattr(self, name)!r}; it must be "right" or "left"')
        self.model_input_names = list(settings.get("model_input_names", self.assumed.inputs))
        self.clean_up_tokenization_spaces = bool(settings.get("clean_up_tokenization_spaces", False))
        self.split_special_tokens = bool(settings.get("split_special_tokens", False))
        self.chat_template = settings.get("chat_template")
        if isinstance(self.chat_template, (list, tuple)):
            self.chat_template = {item["name"]: item["template"] for item in self.chat_template}
        self._become(loading.without_lengths(definition))
        roles, extra, named, added = roles_of(settings)
        if named:
            self.SPECIAL_TOKENS_ATTRIBUTES = [*self.SPECIAL_TOKENS_ATTRIBUTES, *named]
        for role, token in {**self.assumed.roles, **roles, **named}.items():
            setattr(self, role, token)
        if fill is not None and self._roles.get("pad_token") is None:
            self._roles["pad_token"] = fill.pad_token
        self._extra = extra
        self._add_missing(added)
        if "add_prefix_space" in settings:
            self.add_prefix_space = settings["add_prefix_space"]
        for name in settings:
            if callable(getattr(type(self), name, None)):
                raise AttributeError(
                    f"the setting {name!r} is the name of a method of {type(self).__name__}; give it another name"
                )

    @classmethod
    def _saved_as(cls) -> str:
        """Return the name of the class with which any version of transformers loads the saved folder."""
        return cls.__name__

    @classmethod
    def from_pretrained(
        cls: type[T],
        pretrained_model_name_or_path: Any,
        *init_inputs: Any,
        cache_dir: Any = None,
        force_download: bool = False,
        local_files_only: bool = False,
        token: Any = None,
        revision: str = "main",
        trust_remote_code: bool = False,
        **kwargs: Any,
    ) -> T:
        """Load the tokenizer in a folder or a file, or of a name in the hub's cache.

        Nothing is downloaded and no code is run; `tokkit fetch NAME` downloads a model's files into the cache. Other
        arguments override tokenizer_config.json. OSError if the name does not exist, ValueError if it has no tokenizer.
        """
        subfolder = kwargs.pop("subfolder", "") or ""
        for unused in ("use_fast", "proxies", "gguf_file", "resume_download", "config", "_from_auto", "_commit_hash"):
            kwargs.pop(unused, None)
        path = loading.found(pretrained_model_name_or_path, revision=revision, subfolder=subfolder)
        settings, _ = loading.settings_of(path)
        return cls._loaded(path, settings, {"name_or_path": str(pretrained_model_name_or_path), **kwargs})

    @classmethod
    def _loaded(cls: type[T], path: Any, settings: dict[str, Any], given: dict[str, Any]) -> T:
        settings = {**settings, **given}
        made = cls.__new__(cls)
        made.__dict__.update(_roles={}, _extra=[])
        made._set_up(loading.definition_in(path, settings), settings)
        if path.is_dir() and not (path / "tokenizer.json").is_file():
            made._put_around(settings)
        return made

    def _put_around(self, settings: dict[str, Any]) -> None:
        """Add the class's special tokens around texts, unless the files define a postprocessor."""
        if self.assumed.around is None or self._tok.definition.postprocessor is not None:
            return
        texts = {role.removesuffix("_token"): token for role, token in self.special_tokens_map.items()}
        templates = []
        for template in self.assumed.around:
            pieces = [piece.partition(":") for piece in template.split()]
            if not settings.get("add_bos_token", True):
                pieces = [piece for piece in pieces if piece[0] != "bos"]
            templates.append([f"{texts.get(name, name)}:{type_ or 0}" for name, _, type_ in pieces])
        names = {text: self.convert_tokens_to_ids(text) for text in texts.values()}
        self._become(replace(self._tok.definition, postprocessor=Template.parse(templates[0], templates[1], names)))

    # ---- the tokenizer itself

    @property
    def backend_tokenizer(self) -> tokenizers.Tokenizer:
        """The tokenizer as `tokkit.compat.tokenizers.Tokenizer`; changes of its components apply from the next call."""
        from tokkit.compat.transformers import backend

        if self._backend is None:
            self._backend = backend.Backend(self._tok.definition)
        return self._backend.tokenizer

    _tokenizer = backend_tokenizer

    @property
    def decoder(self) -> Any:
        """The decoder, of `tokkit.compat.tokenizers`."""
        return self.backend_tokenizer.decoder

    @property
    def add_bos_token(self) -> bool:
        """Whether texts begin with `bos_token`; if it was not set, the file's postprocessor decides."""
        return bool(self.__dict__.get("_ends", {}).get("bos_token"))

    @add_bos_token.setter
    def add_bos_token(self, value: bool) -> None:
        self._set_end("bos_token", value)

    @property
    def add_eos_token(self) -> bool:
        """Whether texts end with `eos_token`; if it was not set, the file's postprocessor decides."""
        return bool(self.__dict__.get("_ends", {}).get("eos_token"))

    @add_eos_token.setter
    def add_eos_token(self, value: bool) -> None:
        self._set_end("eos_token", value)

    def _set_end(self, role: str, value: bool) -> None:
        """Make bos and eos the only tokens around texts, as `add_bos_token` and `add_eos_token` say."""
        ends = {**self.__dict__.get("_ends", {}), role: bool(value) and self._roles.get(role) is not None}
        self.__dict__["_ends"] = ends
        texts = {name: str(self._roles[name]) for name, is_on in ends.items() if is_on}
        names = {text: self.convert_tokens_to_ids(text) for text in texts.values()}

        def around(text: str, type_id: int) -> list[str]:
            parts = [texts.get("bos_token"), text, texts.get("eos_token")]
            return [f"{part}:{type_id}" for part in parts if part is not None]

        first = around("$A", 0)
        made = Template.parse(first, [*first, *around("$B", 1)], names)
        self._become(replace(self._tok.definition, postprocessor=made))

    @property
    def can_save_slow_tokenizer(self) -> bool:
        """Always False: only tokenizer.json is written."""
        return False

    def train_new_from_iterator(
        self: T,
        text_iterator: Any,
        vocab_size: int,
        length: int | None = None,
        new_special_tokens: Any = None,
        special_tokens_map: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> T:
        """Return a tokenizer with the same components and settings, and a vocabulary trained on new texts.

        `text_iterator` yields texts or lists of texts. `special_tokens_map` maps special tokens to new names, and
        `new_special_tokens` are added. `kwargs` are options of `tokkit.train`. Byte-level BPE, WordPiece and whole
        words can be trained; OptionError for other models.
        """
        renamed, new = special_tokens_map or {}, list(new_special_tokens or ())
        special = training.special_of(self, renamed, new)
        wanted = training.Wanted(special, vocab_size, renamed, kwargs)
        definition = training.retrained(self._tok.definition, text_iterator, wanted)
        roles = {role: renamed.get(token, token) for role, token in self.special_tokens_map.items()}
        settings = {**self.init_kwargs, **roles, "chat_template": self.chat_template}
        for name in ("added_tokens_decoder", "additional_special_tokens", "extra_special_tokens"):
            settings.pop(name, None)
        extra = [*self._extra, *new]
        made = type(self).__new__(type(self))
        made.__dict__.update(_roles={}, _extra=[])
        made._set_up(definition, {**settings, "extra_special_tokens": extra} if extra else settings)
        return made

    def __copy__(self: T) -> T:
        made = type(self).__new__(type(self))
        own = self._tok, self._names
        made.__dict__.update(self.__dict__, _own=own, _backend=None, _roles=dict(self._roles), _extra=list(self._extra))
        return made

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        made = copy.copy(self)
        for name in ("init_kwargs", "model_input_names", "chat_template", "deprecation_warnings"):
            made.__dict__[name] = copy.deepcopy(self.__dict__[name], memo)
        return made

    def __repr__(self) -> str:
        added = "".join(f"\n\t{id_}: {token!r}," for id_, token in self.added_tokens_decoder.items())
        return (
            f"{type(self).__name__}(name_or_path={self.name_or_path!r}, vocab_size={self.vocab_size}, "
            f"model_max_length={self.model_max_length}, padding_side={self.padding_side!r}, "
            f"truncation_side={self.truncation_side!r}, special_tokens={self.special_tokens_map}, "
            f"added_tokens_decoder={{{added}\n}})"
        )
