"""What is put around texts: bos and eos, or the tokens of a source and a target language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tokkit.compat.transformers.batch_encoding import BatchEncoding
from tokkit.compat.transformers.saving import Save
from tokkit.compat.transformers.vocabulary import Names
from tokkit.definition import Definition
from tokkit.errors import OptionError
from tokkit.registry.tokenizer_classes import build
from tokkit.registry.tokenizer_classes.draft import Draft, postprocessor_of
from tokkit.registry.tokenizer_classes.row import Given
from tokkit.tokenizer import Tokenizer


class Around(Save):
    """`add_bos_token`, `add_eos_token`, `src_lang`, `tgt_lang`, and calls with `text_target`."""

    _given: Given
    _target: Definition | None = None
    """The definition for targets, of a class that has another vocabulary for them."""

    def _forget(self) -> None:
        super()._forget()
        self._modes: dict[tuple[Any, bool], tuple[Tokenizer, Names]] = {}

    # ---- bos and eos

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
        self.__dict__["_ends"] = {**self.__dict__.get("_ends", {}), role: bool(value)}
        self.update_post_processor()

    def update_post_processor(self) -> None:
        """Put `bos_token` and `eos_token` around texts as `add_bos_token` and `add_eos_token` say, and nothing else."""
        draft, ends = self._draft(), self.__dict__.get("_ends", {})
        self.__dict__["_ends"] = {role: on and self._roles.get(role) is not None for role, on in ends.items()}
        draft.update_around({f"add_{role}": on for role, on in self.__dict__["_ends"].items()})
        self._become(self._with_around(draft))

    def _with_around(self, draft: Draft) -> Definition:
        """Return the definition with the template of a draft."""
        return replace(self._tok.definition, postprocessor=postprocessor_of(draft.file["post_processor"]))

    # ---- languages

    @property
    def src_lang(self) -> Any:
        """The language of texts, for classes with languages; setting it changes the tokens around them."""
        return self._language("src_lang")

    @src_lang.setter
    def src_lang(self, value: Any) -> None:
        self._set_language("src_lang", value)

    @property
    def tgt_lang(self) -> Any:
        """The language of targets (`text_target`), for classes with languages."""
        return self._language("tgt_lang")

    @tgt_lang.setter
    def tgt_lang(self, value: Any) -> None:
        self._set_language("tgt_lang", value)

    def _language(self, name: str) -> Any:
        if self.row.languages is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return self._given[name]

    def _set_language(self, name: str, value: Any) -> None:
        if self.row.languages is None:
            raise AttributeError(f"{type(self).__name__} has no languages; {name} changes nothing")
        before, self._given[name] = self._given[name], value if value is None else self.row.languages.spell(value)
        if value is not None:
            try:
                build.check_language(self._draft(), self.row.languages, self._given, name)
            except OptionError:
                self._given[name] = before
                raise
        if name == "src_lang":
            self._switch_to_input_mode()

    def _switch_to_input_mode(self) -> None:
        """Encode as for the source language."""
        self._switch(self._given.get("src_lang"), False)

    def _switch_to_target_mode(self) -> None:
        """Encode as for the target language; as for the source language, if it was not set."""
        if self._given.get("tgt_lang") is None:
            self._given["tgt_lang"] = self._given.get("src_lang")
        self._switch(self._given["tgt_lang"], True)

    def _switch(self, lang: Any, is_target: bool) -> None:
        """Use the tokenizer of a language, which is made once."""
        own, modes = self._own, self._modes
        if not modes:
            modes[None, False] = own
        if (lang, is_target) not in modes:
            made = self._target if is_target and self._target is not None else self._tok.definition
            if self.row.languages is not None:
                draft = self._draft()
                build.put_around(draft, self.row.languages.around(lang, self._given, is_target))
                made = replace(made, postprocessor=postprocessor_of(draft.file["post_processor"]))
            self._become(made)
            modes[lang, is_target] = self._own
        self._own, self._backend, self._modes = modes[lang, is_target], None, modes

    @property
    def _is_texts_alone(self) -> bool:
        return (
            super()._is_texts_alone
            and self.row.languages is None
            and self._target is None
            and not self.row.inputs_always
        )

    def __call__(
        self,
        text: Any = None,
        text_pair: Any = None,
        text_target: Any = None,
        text_pair_target: Any = None,
        add_special_tokens: bool = True,
        *options: Any,
        **kwargs: Any,
    ) -> BatchEncoding:
        """Return the ids and masks of texts; those of `text_target`, in the target language, are `labels`."""
        given = {key for key, value in kwargs.items() if value is not None} if self.row.inputs_too else None
        refused = given and given.intersection(re.findall(r"\w+", self.row.inputs_too))
        if refused:
            raise OptionError(
                f"{min(refused)} was given; tokkit encodes only the texts of {type(self).__name__}, not its "
                f"{self.row.inputs_too}"
            )
        if self.row.inputs_always:
            raise OptionError(
                f"{type(self).__name__} encodes texts together with {self.row.inputs_too}, and tokkit only texts: "
                "backend_tokenizer.encode gives the ids of one"
            )
        if self.row.languages is None and self._target is None:
            return super().__call__(
                text, text_pair, text_target, text_pair_target, add_special_tokens, *options, **kwargs
            )
        call = super().__call__
        for name in ("src_lang", "tgt_lang"):
            if name in kwargs and self.row.languages is not None:
                setattr(self, name, kwargs.pop(name))
        self._switch_to_input_mode()
        made = None
        if text is not None or text_target is None:
            made = call(text, text_pair, None, None, add_special_tokens, *options, **kwargs)
        if made is not None and text_target is None:
            return made
        lengths = {"max_length": kwargs.get("max_target_length") or kwargs.get("max_length")}
        self._switch_to_target_mode()
        try:
            options_of_target = {**kwargs, **lengths} if not options else kwargs
            targets = call(text_target, text_pair_target, None, None, add_special_tokens, *options, **options_of_target)
        finally:
            self._switch_to_input_mode()
        if made is None:
            return targets
        made["labels"] = targets["input_ids"]
        return made
