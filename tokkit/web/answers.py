"""Builds the answers of OpenAI's API, whole or as events of a stream."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tokkit.chat.tool_calls import ToolCall, ToolCallStream, parse_tool_calls
from tokkit.web.scheduler import Part
from tokkit.web.tools import as_body

REASONS = {"eos": "stop", "stop": "stop", "length": "length", "time": "length"}
"""Why a text ended → how OpenAI's API says it."""
DONE = b"data: [DONE]\n\n"


def event(body: dict[str, Any]) -> bytes:
    """Return an object as one server-sent event."""
    return b"data: " + json.dumps(body, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"


@dataclass(slots=True)
class Whole:
    """One text of an answer, put together from its parts."""

    text: str = ""
    n_tokens: int = 0
    tokens: list[tuple[int, float, list[tuple[int, float]]]] = field(default_factory=list)
    reason: str | None = None

    def add(self, part: Part) -> None:
        """Add a part."""
        self.text += part.text
        self.n_tokens += part.n_tokens
        self.tokens += part.scored
        self.reason = part.reason


class Answer:
    """The answers to one request: `spell` gives the bytes of a token, `tools` may be called."""

    def __init__(
        self,
        model: str,
        *,
        chat: bool,
        logprobs: bool,
        spell: Callable[[int], bytes],
        tools: Sequence[str] = (),
    ) -> None:
        self._chat, self._logprobs, self._spell, self._tools = chat, logprobs, spell, tools
        self._streams: dict[int, ToolCallStream] = {}
        self._head = {
            "id": f"{'chatcmpl' if chat else 'cmpl'}-{uuid.uuid4().hex}", "object": "", "created": int(time.time()),
            "model": model,
        }  # fmt: skip
        self._offsets: dict[int, int] = {}

    def whole(self, texts: Sequence[Whole], usage: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a request that is not streamed."""
        choices = []
        for index, text in enumerate(texts):
            made: dict[str, Any] = {"index": index, "finish_reason": REASONS.get(text.reason or "", "stop")}
            if not self._chat:
                made["text"] = text.text
            else:
                shown, calls = parse_tool_calls(text.text, self._tools)
                made["message"] = {"role": "assistant", "content": shown if shown or not calls else None}
                if calls:
                    made["message"]["tool_calls"] = as_body(calls)
                    made["finish_reason"] = _with_calls(made["finish_reason"])
            made["logprobs"] = self._scores(index, text.tokens)
            choices.append(made)
        kind = "chat.completion" if self._chat else "text_completion"
        return self._head | {"object": kind, "choices": choices, "usage": usage}

    def first(self, index: int) -> dict[str, Any]:
        """Return the event with which a chat's text begins."""
        return self._part([{"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])

    def part(self, part: Part) -> dict[str, Any]:
        """Return the event of a part of a text."""
        reason = None if part.reason is None else REASONS.get(part.reason, "stop")
        made: dict[str, Any] = {"index": part.number, "finish_reason": reason}
        made["logprobs"] = self._scores(part.number, part.scored)
        if self._chat:
            shown, calls = self._streamed(part)
            made["delta"] = {"content": shown} if shown else {}
            if calls:
                made["delta"]["tool_calls"] = as_body(calls, numbered=True)
                made["finish_reason"] = _with_calls(reason)
        else:
            made["text"] = part.text
        return self._part([made])

    def _streamed(self, part: Part) -> tuple[str, list[ToolCall]]:
        """Return the text that is certainly no call, and when the text has ended its calls."""
        if not self._tools:
            return part.text, []
        stream = self._streams.setdefault(part.number, ToolCallStream(self._tools))
        shown = stream.step(part.text)
        if part.reason is None:
            return shown, []
        rest, calls = stream.finish()
        return shown + rest, calls

    def usage(self, usage: dict[str, Any]) -> dict[str, Any]:
        """Return the last event of a stream, which has the token counts."""
        return self._part([]) | {"usage": usage}

    def _part(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        return self._head | {"object": kind, "choices": choices}

    def _scores(self, index: int, tokens: Sequence[tuple[int, float, list[tuple[int, float]]]]) -> Any:
        if not self._logprobs:
            return None
        if self._chat:
            return {"content": [
                self._token(id_, score) | {"top_logprobs": [self._token(*other) for other in top]}
                for id_, score, top in tokens
            ]}  # fmt: skip
        spelt = [self._text(id_) for id_, _, _ in tokens]
        offsets = []
        for text in spelt:
            offsets.append(self._offsets.get(index, 0))
            self._offsets[index] = offsets[-1] + len(text)
        return {
            "tokens": spelt, "token_logprobs": [_number(score) for _, score, _ in tokens], "text_offset": offsets,
            "top_logprobs": [{self._text(other): _number(score) for other, score in top} for _, _, top in tokens],
        }  # fmt: skip

    def _text(self, id_: int) -> str:
        return self._spell(id_).decode("utf-8", "replace")

    def _token(self, id_: int, score: float) -> dict[str, Any]:
        return {"token": self._text(id_), "logprob": _number(score), "bytes": list(self._spell(id_))}


def _with_calls(reason: str | None) -> str | None:
    return "tool_calls" if reason == "stop" else reason


def _number(score: float) -> float:
    # JSON has no infinity; OpenAI's API says -9999 for what is as good as impossible.
    return max(score, -9999.0)


def usage(prompt_tokens: int, texts: Iterable[Whole], cached: int) -> dict[str, Any]:
    """Return the token counts of a request and its answer; `cached` tokens of the prompt were in the cache."""
    made = sum(text.n_tokens for text in texts)
    return {
        "prompt_tokens": prompt_tokens, "completion_tokens": made, "total_tokens": prompt_tokens + made,
        "prompt_tokens_details": {"cached_tokens": cached},
    }  # fmt: skip


def vectors(
    model: str, made: np.ndarray[Any, np.dtype[np.float32]], n_tokens: int, *, as_base64: bool
) -> dict[str, Any]:
    """Return the answer to /v1/embeddings."""
    rows = np.ascontiguousarray(made, dtype="<f4")
    spelt = [base64.b64encode(row.tobytes()).decode() if as_base64 else row.tolist() for row in rows]
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(spelt)]
    return {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": n_tokens, "total_tokens": n_tokens},
    }
