"""`PreTrainedTokenizerFast`: tokkit's tokenizer with the calls of transformers' fast tokenizers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tokkit.compat.transformers import loading, tensors, training
from tokkit.compat.transformers.around import Around
from tokkit.compat.transformers.lengths import PADDINGS, TRUNCATIONS, UNLIMITED
from tokkit.compat.transformers.vocabulary import FOR_BPE
from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import build, choice, folder, sources, table
from tokkit.registry.tokenizer_classes.build import Built
from tokkit.registry.tokenizer_classes.draft import Draft
from tokkit.registry.tokenizer_classes.row import Given, Row
from tokkit.registry.tokenizer_classes.tokens import AddedToken

if TYPE_CHECKING:
    from tokkit.compat import tokenizers

_OF_FILES = ("vocab", "merges", "charsmap", "post_processor", "added_tokens_decoder")
"""Arguments that are in the definition."""
_UNUSED = ("use_fast", "proxies", "resume_download", "config", "_from_auto", "_commit_hash")
"""Arguments of transformers without an effect here, or there."""
T = TypeVar("T", bound="PreTrainedTokenizerFast")


class PreTrainedTokenizerFast(Around):
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

    row: Row = table.CLASSES[choice.PLAIN]
    class_name: ClassVar[str] = choice.PLAIN
    _files: Mapping[str, str] = MappingProxyType({})
    _loaded_tokens: tuple[AddedToken, ...] = ()
    vocab_file: str
    is_fast = True
    slow_tokenizer_class = None
    backend = "tokenizers"
    model: ClassVar[Any] = None
    vocab_files_names: ClassVar[dict[str, str]] = {"tokenizer_file": "tokenizer.json", "vocab_file": "tokenizer.model"}

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        **settings: Any,
    ) -> None:
        self.__dict__.update(_roles={}, _extra=[])
        tokenizer_object, tokenizer_file = (settings.pop(f"tokenizer_{name}", None) for name in ("object", "file"))
        settings = loading.with_own_tokens(settings)
        whole, paths = None, {key: settings[key] for key in ("vocab_file", "merges_file") if settings.get(key)}
        if tokenizer_object is not None:
            whole = Draft.of_definition(loading.definition_of(tokenizer_object))
        elif tokenizer_file is not None and Path(tokenizer_file).is_file():
            whole = Draft.of_file(sources.read_file(tokenizer_file))
        elif vocab is None and "vocab_file" not in paths:
            raise OptionError("there is no tokenizer: pass tokenizer_object=, or the path of a file as tokenizer_file=")
        given = {**settings, "vocab": vocab, "merges": merges}
        build.warn_unknown(self.class_name, self.row, settings, settings)
        self._set_up(build.build(self.class_name, given, paths, whole=whole), settings)

    def _set_up(self, built: Built, settings: dict[str, Any]) -> None:
        definition, given = built.definition, built.given
        own = (*built.row.roles, *built.row.arguments)
        self.init_kwargs = {**{name: given.get(name) for name in own}, **settings}
        self.init_inputs: tuple[Any, ...] = ()
        self.deprecation_warnings: dict[str, bool] = {}
        self.verbose = bool(settings.get("verbose", False))
        self.name_or_path = settings.get("name_or_path", "")
        self._class_name = settings.get("tokenizer_class") or self._saved_as()
        self.model_max_length = settings.get("model_max_length", settings.get("max_len", UNLIMITED)) or UNLIMITED
        cut, fill = definition.truncation, definition.padding
        self.padding_side = settings.get("padding_side", fill.direction if fill else self.row.side)
        self.truncation_side = settings.get("truncation_side", cut.direction if cut else "right")
        for name in ("padding_side", "truncation_side"):
            if getattr(self, name) not in ("left", "right"):
                raise OptionError(f'{name} is {getattr(self, name)!r}; it must be "right" or "left"')
        self.model_input_names = list(settings.get("model_input_names", self.row.inputs))
        self.clean_up_tokenization_spaces = bool(settings.get("clean_up_tokenization_spaces", False))
        setattr(self, FOR_BPE, bool(settings.get(FOR_BPE, False)))
        self.split_special_tokens = bool(settings.get("split_special_tokens", False))
        self.chat_template = settings.get("chat_template")
        if isinstance(self.chat_template, (list, tuple)):
            self.chat_template = {item["name"]: item["template"] for item in self.chat_template}
        self._become(loading.without_lengths(definition))
        if built.named:
            self.SPECIAL_TOKENS_ATTRIBUTES = [*self.SPECIAL_TOKENS_ATTRIBUTES, *built.named]
        self._roles.update({role: token for role, token in built.roles.items() if token is not None})
        if fill is not None and self._roles.get("pad_token") is None:
            self._roles["pad_token"] = fill.pad_token
        self._extra, self._target = built.extra, built.target
        self._given = Given({name: value for name, value in given.items() if name not in _OF_FILES})
        self.__dict__["_ends"] = {role: bool(given.get(f"add_{role}")) for role in ("bos_token", "eos_token")}
        for name in ("add_prefix_space", *built.row.arguments):
            if not name.startswith("add_") or name == "add_prefix_space":
                self.__dict__.setdefault(name, given.get(name, False))
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
        arguments are those of the class, and override tokenizer_config.json; one that changes nothing is logged.
        `gguf_file` is the name of a GGUF file in the folder. OSError if the name does not exist, ValueError if it has
        no tokenizer.
        """
        subfolder = kwargs.pop("subfolder", "") or ""
        for unused in _UNUSED:
            kwargs.pop(unused, None)
        path = loading.found(pretrained_model_name_or_path, revision=revision, subfolder=subfolder)
        stated, gguf = loading.stated_in(path), kwargs.pop("gguf_file", None)
        asked = loading.with_own_tokens(kwargs)
        built = folder.load(path / gguf if gguf else path, name=cls.class_name, stated=stated, asked=asked)
        settings = {key: value for key, value in built.settings.items() if key != "added_tokens_decoder"}
        name = {"name_or_path": str(pretrained_model_name_or_path), "tokenizer_class": stated.get("tokenizer_class")}
        made = cls.__new__(cls)
        made.__dict__.update(_roles={}, _extra=[])
        made._set_up(built, {**settings, **name})
        made._loaded_tokens = tuple(built.settings["added_tokens_decoder"].values())
        made._files = {key: value for key, value in built.paths.items() if key != "tokenizer_file"}
        if (vocabulary := built.paths.get("vocab_file") or loading.vocabulary_in(path)) is not None:
            made.vocab_file = str(vocabulary)
        return made

    # ---- the tokenizer itself

    @property
    def backend_tokenizer(self) -> tokenizers.Tokenizer:
        """The tokenizer as `tokkit.compat.tokenizers.Tokenizer`; changes of its components apply from the next call."""
        from tokkit.compat.transformers import backend

        if self._backend is None:
            self._backend = backend.Backend(self._tok.definition)
        return self._backend.tokenizer

    _tokenizer = backend_tokenizer

    def set_truncation_and_padding(
        self,
        padding_strategy: Any,
        truncation_strategy: Any,
        max_length: Any,
        stride: int,
        pad_to_multiple_of: int | None,
        padding_side: str | None = None,
    ) -> None:
        """Set the truncation and the padding of `backend_tokenizer`; calls of this tokenizer have their own.

        The strategies are names, or members of transformers' enumerations.
        """
        pads = tensors.choice("padding_strategy", padding_strategy, *PADDINGS)
        cut = tensors.choice("truncation_strategy", truncation_strategy, *TRUNCATIONS)
        backend = self.backend_tokenizer
        if cut == "do_not_truncate":
            backend.no_truncation()
        else:
            backend.enable_truncation(max_length, stride=stride, strategy=cut, direction=self.truncation_side)
        if pads == "do_not_pad":
            backend.no_padding()
            return
        backend.enable_padding(
            length=max_length if pads == "max_length" else None,
            direction=padding_side or self.padding_side,
            pad_id=self.pad_token_id,
            pad_token=self.pad_token,
            pad_type_id=self.pad_token_type_id,
            pad_to_multiple_of=pad_to_multiple_of,
        )

    @property
    def decoder(self) -> Any:
        """The decoder, of `tokkit.compat.tokenizers`."""
        return self.backend_tokenizer.decoder

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
        `new_special_tokens` are added. `kwargs` are options of tokenizers' trainer for the model: BPE, WordPiece,
        WordLevel or Unigram. Added tokens of the loaded files that are not special get ids after `vocab_size`.
        """
        renamed, new = special_tokens_map or {}, list(new_special_tokens or ())
        wanted = training.Wanted(vocab_size, renamed, new, kwargs)
        definition = training.retrained(self._tok.definition, text_iterator, wanted)
        roles = {role: renamed.get(token, token) for role, token in self.special_tokens_map.items()}
        settings = {**self.init_kwargs, **roles, "chat_template": self.chat_template}
        settings.pop("additional_special_tokens", None)
        listed = (*definition.added_tokens, *self._loaded_tokens)
        settings["added_tokens_decoder"] = dict(enumerate(map(AddedToken.of, listed)))
        extra = [*self._extra, *new]
        if extra:
            settings["extra_special_tokens"] = extra
        made = type(self).__new__(type(self))
        made.__dict__.update(_roles={}, _extra=[])
        whole = Draft.of_definition(definition)
        made._set_up(build.build(self.class_name, settings, {}, whole=whole), settings)
        return made

    def __copy__(self: T) -> T:
        made = type(self).__new__(type(self))
        own = self._tok, self._names
        made.__dict__.update(
            self.__dict__, _built=own, _pending=None, _backend=None, _roles=dict(self._roles), _extra=list(self._extra)
        )
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
