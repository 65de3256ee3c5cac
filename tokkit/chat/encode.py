"""Encodes a chat: only the special tokens that the template itself wrote become special ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokkit.chat.rendered import Rendered, Span
from tokkit.chat.template import ChatTemplate, Tool

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class EncodedChat:
    """The ids of a chat; `assistant_mask` is 1 for each id with text of a `{% generation %}` block, else 0."""

    ids: list[int]
    assistant_mask: list[int]
    rendered: Rendered


def encode_chat(
    tok: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Iterable[Tool] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    **kwargs: Any,
) -> EncodedChat:
    """Return the ids of a chat. Special tokens in the text of messages are ordinary text.

    If no message contains any, the ids are those of the whole text with special="all".
    """
    rendered = template.render_parts(
        messages,
        special_tokens=tok.special_tokens,
        tools=tools,
        documents=documents,
        add_generation_prompt=add_generation_prompt,
        **kwargs,
    )
    if not rendered.generated:
        ids = [id_ for text, own in rendered.parts for id_ in tok.encode(text, special="all" if own else "text")]
        return EncodedChat(ids, [0] * len(ids), rendered)
    ids, spans, at = [], [], 0
    for text, own in rendered.parts:
        encoding = tok(text, special="all" if own else "text", add_special=False)
        ids += encoding.ids
        spans += [(at + start, at + end) for start, end in encoding.offsets]
        at += len(text)
    return EncodedChat(ids, within(spans, rendered.generated), rendered)


def within(spans: Sequence[Span], wanted: Sequence[Span]) -> list[int]:
    """Return 1 for each span that overlaps one of `wanted`, else 0; both are sorted.

    >>> within([(0, 2), (2, 4), (4, 5)], [(3, 4)])
    [0, 1, 0]
    """
    mask, i = [], 0
    for start, end in spans:
        while i < len(wanted) and wanted[i][1] <= start:
            i += 1
        mask.append(int(i < len(wanted) and start < end and wanted[i][0] < end))
    return mask
