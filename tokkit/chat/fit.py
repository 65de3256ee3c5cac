"""Fits a chat into a number of tokens: drops whole turns, the oldest first, and keeps what the next answer needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokkit.chat.encode import EncodedChat, encode_chat
from tokkit.chat.template import ChatTemplate, Tool
from tokkit.errors import ChatError, OptionError

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

KEPT_ROLES = ("system", "developer")
ANSWERING_ROLES = ("assistant", "model")

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FittedChat:
    """The kept messages, the number of dropped ones, and the encoded chat of the kept ones."""

    messages: list[Message]
    n_dropped: int
    encoded: EncodedChat


def fit_chat(
    tok: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Message],
    limit: int,
    *,
    tools: Iterable[Tool] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    **kwargs: Any,
) -> FittedChat:
    """Return the chat without its oldest turns, so that it has at most `limit` ids, including special tokens.

    A turn is a user message and all answers to it, including tool calls with their results. System messages, the last
    user message, and the last message with the call that it answers always stay. If dropping turns is not enough, older
    answers to the last user message are dropped too. No more than necessary is dropped: with the last dropped turn or
    answer, the chat would not fit. ChatError if even the messages that always stay do not fit. The options are those of
    `encode_chat`.

    >>> import tokkit
    >>> from tokkit.chat import ChatTemplate
    >>> tok = tokkit.train(iter(["a"]), vocab_size=256)
    >>> template = ChatTemplate("{% for m in messages %}{{ m.role[0] }}:{{ m.content }} {% endfor %}")
    >>> roles = ["system", "user", "assistant", "user"]
    >>> fitted = fit_chat(tok, template, [{"role": role, "content": "Hi"} for role in roles], 12)
    >>> [message["role"] for message in fitted.messages], len(fitted.encoded.ids)
    (['system', 'user'], 10)
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise OptionError(f"limit is {limit!r}; it must be an int of at least 1")
    tools = None if tools is None else list(tools)
    groups = droppable(messages)

    def fitted(n_groups: int) -> FittedChat:
        dropped = {i for group in groups[:n_groups] for i in group}
        kept = [message for i, message in enumerate(messages) if i not in dropped]
        options: dict[str, Any] = {"tools": tools, "documents": documents, **kwargs}
        encoded = encode_chat(tok, template, kept, add_generation_prompt=add_generation_prompt, **options)
        return FittedChat(kept, len(dropped), encoded)

    found = fitted(0)
    if len(found.encoded.ids) <= limit:
        return found
    found = fitted(len(groups))
    if (n := len(found.encoded.ids)) > limit:
        kept = f"{len(found.messages)} of its {len(messages)} messages, which must stay,"
        raise ChatError(f"the chat does not fit into {limit:,} tokens: {kept} have {n:,}")
    too_many, enough = 0, len(groups)  # numbers of dropped groups: too few to fit, and enough to fit
    while enough - too_many > 1:
        middle = (too_many + enough) // 2
        tried = fitted(middle)
        if len(tried.encoded.ids) <= limit:
            enough, found = middle, tried
        else:
            too_many = middle
    return found


def droppable(messages: Sequence[Message]) -> list[list[int]]:
    """Return the indices of messages that may be dropped, in groups that are dropped together, the oldest first.

    >>> roles = ["system", "user", "assistant", "tool", "user", "assistant", "tool", "assistant", "tool"]
    >>> droppable([{"role": role} for role in roles])
    [[1, 2, 3], [5, 6]]
    """
    roles = [message.get("role") if isinstance(message, Mapping) else None for message in messages]
    last_user = max((i for i, role in enumerate(roles) if role == "user"), default=-1)
    groups: list[list[int]] = [[]]
    for i, role in enumerate(roles):
        if role in KEPT_ROLES:
            continue
        if role == "user" or (i > last_user and role in ANSWERING_ROLES):
            groups.append([])
        groups[-1].append(i)
    return [group for group in groups[:-1] if group and last_user not in group]
