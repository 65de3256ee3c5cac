"""Chat templates of a tokenizer: messages → text or ids."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokkit.chat.continuation import render_open_end
from tokkit.chat.template import ChatTemplate
from tokkit.compat.transformers.batch_encoding import BatchEncoding
from tokkit.compat.transformers.padding import Pad
from tokkit.errors import ChatError, OptionError

if TYPE_CHECKING:
    from tokkit.chat.rendered import Rendered, Span
    from tokkit.encoding import Encoding


@functools.lru_cache(maxsize=32)
def _compiled(source: str, roles: tuple[tuple[str, str], ...]) -> ChatTemplate:
    return ChatTemplate(source, dict(roles))


class Chat(Pad):
    """`apply_chat_template`, and the choice of the template."""

    chat_template: str | dict[str, str] | None

    def get_chat_template(self, chat_template: str | None = None, tools: Any = None) -> str:
        """Return the source of a template: the given one, one by name, the one for tools, or the default."""
        own = self.chat_template
        if isinstance(own, Mapping):
            if chat_template is not None:
                return own.get(chat_template, chat_template)
            if tools is not None and "tool_use" in own:
                return own["tool_use"]
            if "default" not in own:
                raise OptionError(
                    f"there is no default template; choose with chat_template= from {', '.join(sorted(own))}"
                )
            return own["default"]
        source = own if chat_template is None else chat_template
        if source is None:
            raise OptionError("there is no chat template: set tokenizer.chat_template, or pass chat_template=")
        return source

    def apply_chat_template(
        self,
        conversation: Any,
        tools: Any = None,
        documents: Any = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        sanitize_control_tokens: bool = False,
        padding: Any = False,
        truncation: Any = False,
        max_length: int | None = None,
        return_tensors: Any = None,
        return_dict: bool = True,
        return_assistant_tokens_mask: bool = False,
        tokenizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the text of a chat, or of each of several (`tokenize=False`), or its ids, as a call returns them.

        As in transformers, the text of a special token in a message becomes that token, unless
        `sanitize_control_tokens`; then only special tokens that the template wrote are special. `kwargs` are additional
        variables of the template. Errors in a template raise jinja2's errors.
        """
        if return_assistant_tokens_mask and not (return_dict and tokenize):
            raise OptionError("return_assistant_tokens_mask needs return_dict=True and tokenize=True")
        if continue_final_message and (add_generation_prompt or return_assistant_tokens_mask):
            other = "add_generation_prompt" if add_generation_prompt else "return_assistant_tokens_mask"
            raise OptionError(f"continue_final_message was given with {other}; give only one of them")
        if sanitize_control_tokens and (return_assistant_tokens_mask or not tokenize):
            raise OptionError(
                "sanitize_control_tokens was given; it needs tokenize=True and return_assistant_tokens_mask=False"
            )
        if documents is not None and not all(isinstance(document, Mapping) for document in documents):
            raise TypeError(f"documents are {documents!r:.80}; they must be a list of dicts")
        template = self._template(self.get_chat_template(chat_template, tools))
        first = conversation[0] if isinstance(conversation, (list, tuple)) and conversation else None
        batched = isinstance(first, (list, tuple)) or hasattr(first, "messages")
        chats = conversation if batched else [conversation]
        data = {
            "tools": None if tools is None else [tool if callable(tool) else _plain(tool) for tool in tools],
            "documents": _plain(documents),
            "add_generation_prompt": add_generation_prompt,
            **_plain(kwargs),
        }
        traced = sanitize_control_tokens and tokenize
        rendered = [
            self._rendered(template, chat, data, continue_final_message, traced or return_assistant_tokens_mask)
            for chat in chats
        ]
        texts = [one if isinstance(one, str) else one.text for one in rendered]
        if not tokenize:
            return texts if batched else texts[0]
        options = {
            "padding": padding,
            "truncation": truncation,
            "max_length": max_length,
            "add_special_tokens": False,
            **(tokenizer_kwargs or {}),
        }
        if traced:
            parts = [one.parts for one in rendered if not isinstance(one, str)]
            made = self._of_parts(
                parts if batched else parts[0], batched, {**options, "return_tensors": return_tensors}
            )
        else:
            made = self(texts if batched else texts[0], return_tensors=return_tensors, **options)
        if not return_dict:
            return made["input_ids"]
        if return_assistant_tokens_mask and not traced:
            spans = [() if isinstance(one, str) else one.generated for one in rendered]
            self._add_mask(made, spans, batched, return_tensors)
        return made

    def encode_message_with_chat_template(
        self, message: Mapping[str, Any], conversation_history: Sequence[Any] | None = None, **kwargs: Any
    ) -> list[int]:
        """Return the ids that a message adds to those of the messages before it."""
        if "add_generation_prompt" in kwargs:
            raise OptionError("add_generation_prompt was given; leave it out, because the message exists already")
        before = list(conversation_history or ())
        options = {"return_dict": False, **kwargs}
        ids: list[int] = self.apply_chat_template([*before, message], **options)
        if not before:
            return ids
        known = self.apply_chat_template(before, **options)
        n_equal = next((i for i, id_ in enumerate(known) if i >= len(ids) or ids[i] != id_), len(known))
        return ids[n_equal:]

    # ---- rendering

    def _template(self, source: str) -> ChatTemplate:
        try:
            return _compiled(source, tuple(self.special_tokens_map.items()))
        except ChatError as error:
            raise _of_jinja(error, syntax=True) from None

    def _rendered(
        self, template: ChatTemplate, chat: Any, data: dict[str, Any], final: bool | str, traced: bool
    ) -> str | Rendered:
        messages = _plain(getattr(chat, "messages", chat))
        if not isinstance(messages, (list, tuple)) or not all(isinstance(message, dict) for message in messages):
            raise TypeError(
                f"a conversation is {messages!r:.80}; it must be a list of dicts, dataclasses or pydantic models"
            )
        if not messages:
            raise OptionError("the conversation is empty; it must have at least one message")
        # Entries of a message that are None, as OpenAI's messages have, are treated as missing.
        messages = [{key: value for key, value in message.items() if value is not None} for message in messages]
        try:
            if traced:
                return template.render_parts(messages, special_tokens=self._tok.special_tokens, **data)
            if not final:
                return template.render(messages, **data)
            return render_open_end(template, messages, "content" if final is True else final, data)
        except ChatError as error:
            raise _of_jinja(error) from None

    # ---- ids

    def _of_parts(self, parts: Any, batched: bool, options: dict[str, Any]) -> BatchEncoding:
        """Return the ids of chats in which only special tokens of the template are special."""
        tensors, rows = options.pop("return_tensors"), parts if batched else [parts]
        padding = options.pop("padding")
        ids = []
        for row in rows:
            ids.append(
                [
                    id_
                    for text, own in row
                    for id_ in self(text, split_special_tokens=not own, **{**options, "truncation": False})["input_ids"]
                ]
            )
            if options["truncation"] and options["max_length"] is not None:
                ids[-1] = ids[-1][: options["max_length"]]
        if batched or tensors is not None:
            return self.pad({"input_ids": ids}, padding=padding, return_tensors=tensors)
        return self.pad({"input_ids": ids[0]}, padding=padding)

    def _add_mask(self, made: BatchEncoding, spans: Sequence[Sequence[Span]], batched: bool, kind: Any) -> None:
        """Add `assistant_masks`: 1 for tokens with text that the template marks as the assistant's."""
        masks = [_mask(made[i], generated) for i, generated in enumerate(spans)]
        made["assistant_masks"] = masks if batched or kind is not None else masks[0]
        made.convert_to_tensors(kind)


def _plain(value: Any) -> Any:
    """Return a value as templates see it: mappings, dataclasses and pydantic models, also nested ones, as dicts.

    Scalars of numpy and members of enumerations become plain ones; of other objects, only the name of the type stays.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return int.__index__(value) if isinstance(value, int) else float.__float__(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    dump = getattr(value, "model_dump", None)
    return _plain(dump()) if callable(dump) else f"<{type(value).__name__}>"


def _mask(encoding: Encoding, spans: Sequence[Span]) -> list[int]:
    """Return 1 for each token with text of a span, else 0, as transformers from 5.24 on; both are in order."""
    mask, at = [0] * len(encoding), 0
    for i, (start, end) in enumerate(encoding.offsets):
        while at < len(spans) and start >= spans[at][1]:
            at += 1
        if at == len(spans):
            break
        mask[i] = int(end > spans[at][0])
    return mask


def _of_jinja(error: ChatError, *, syntax: bool = False) -> Exception:
    """Return jinja2's error, which transformers raises, for one of ours."""
    try:
        from jinja2 import exceptions
    except ImportError:
        return ImportError(str(error))
    if syntax:
        return exceptions.TemplateSyntaxError(str(error), 1)
    cause = error.__cause__
    if isinstance(
        cause, (exceptions.TemplateRuntimeError, TypeError, ValueError, KeyError, AttributeError, IndexError)
    ):
        return type(cause)(str(error))
    return exceptions.TemplateError(str(error))
