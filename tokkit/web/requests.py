"""Reads and checks the bodies of requests to OpenAI's API, with the defaults of that API.

A parameter that would change the answer and is not supported is an error that names it, because an answer to another
question would be worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokkit.errors import FormatError, TokkitError
from tokkit.files import strict_json
from tokkit.files.strict_json import brief
from tokkit.nn.generation import Sampling
from tokkit.web import tools
from tokkit.web.access import Limits
from tokkit.web.errors import RequestError
from tokkit.web.tools import Tool

IGNORED = frozenset((
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
    "parallel_tool_calls", "verbosity", "prediction",
))  # fmt: skip
"""Parameters that change no answer here."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "suffix": (None, ""), "echo": (None, False), "tools": (None, []), "tool_choice": (None, "none", "auto"),
    "functions": (None, []), "function_call": (None, "none", "auto"), "modalities": (None, ["text"]), "audio": (None,),
    "reasoning_effort": (None, "none"), "web_search_options": (None,),
}  # fmt: skip
"""Parameters that are not supported → values that ask for nothing."""
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty")
"""Options of drawing that are handed on as they are; top_k, min_p and repetition_penalty are not OpenAI's own."""
MAX_STOPS, MAX_ALTERNATIVES = 16, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The parameters of a request for text."""

    model: str
    prompts: Sequence[str | list[int]] = ()
    messages: Sequence[Mapping[str, Any]] = ()
    max_new_tokens: int | None = None
    n: int = 1
    stop: tuple[str, ...] = ()
    seed: int | None = None
    logprobs: bool = False
    alternatives: int = 0
    stream: bool = False
    include_usage: bool = False
    schema: Mapping[str, Any] | bool | None = None
    tools: Sequence[Tool] = ()
    must_call: Sequence[str] = ()
    sampling: Sampling


class Body:
    """The JSON object of a request. Take each parameter once; `done` refuses those that are left."""

    def __init__(self, data: bytes) -> None:
        try:
            made = strict_json.loads(data)
        except FormatError as error:
            raise RequestError(f"the body is not JSON: {error}") from None
        if not isinstance(made, dict):
            raise RequestError(f"the body is {strict_json.kind(made)}; it must be an object")
        self._left = {name: value for name, value in made.items() if value is not None}

    def take(self, name: str, kinds: tuple[type, ...], what: str, default: Any = None) -> Any:
        """Return a parameter, or the default; RequestError if it has another type."""
        value = self._left.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise wrong(name, value, what)
        return value

    def number(self, name: str, default: int | None = None, *, least: int = 0, most: int | None = None) -> Any:
        """Return a whole number in a range, or the default."""
        what = f"a whole number of at least {least}" + ("" if most is None else f" and at most {most}")
        value = self.take(name, (int,), what, default)
        if value is not None and (value < least or (most is not None and value > most)):
            raise wrong(name, value, what)
        return value

    def done(self) -> None:
        """Raise RequestError for a parameter that was not taken and could change the answer."""
        for name, value in self._left.items():
            if name in IGNORED or value in NEUTRAL.get(name, ()):
                continue
            raise RequestError(
                f"{name} is {brief(value)}; that is not supported here", param=name, code="unsupported_parameter"
            )


def wrong(name: str, value: object, what: str) -> RequestError:
    """Return the error of a parameter with a wrong value."""
    return RequestError(f"{name} is {brief(value)}; it must be {what}", param=name)


def completion(data: bytes, limits: Limits) -> Asked:
    """Return the parameters of a request to /v1/completions."""
    body = Body(data)
    given = body.take("prompt", (str, list), "a string, a list of strings, ids, or a list of lists of ids")
    if given is None:
        raise RequestError("there is no prompt", param="prompt")
    prompts = _prompts(given)
    alternatives = body.number("logprobs", most=MAX_ALTERNATIVES)
    n = body.number("n", 1, least=1)
    if body.number("best_of", n, least=1) != n:
        raise RequestError("best_of is not supported here; ask for n", param="best_of")
    return _asked(
        body, limits, prompts=prompts, n=n, logprobs=alternatives is not None, alternatives=alternatives or 0,
        max_new_tokens=body.number("max_tokens", 16, least=1),
    )  # fmt: skip


def chat(data: bytes, limits: Limits) -> Asked:
    """Return the parameters of a request to /v1/chat/completions."""
    body = Body(data)
    messages = body.take("messages", (list,), "a list of messages")
    if not messages:
        raise RequestError("there are no messages; give at least one", param="messages")
    logprobs = body.take("logprobs", (bool,), "true or false", False)
    alternatives = body.number("top_logprobs", 0, most=MAX_ALTERNATIVES)
    if alternatives and not logprobs:
        raise RequestError("top_logprobs is given; it needs logprobs: true", param="top_logprobs")
    older = body.number("max_tokens", least=1)
    given, must = tools.checked(
        body.take("tools", (list,), "a list of tools", []), body.take("tool_choice", (str, dict), "a choice")
    )
    asked = _asked(
        body, limits, messages=[_message(each) for each in messages], n=body.number("n", 1, least=1),
        logprobs=logprobs, alternatives=alternatives, tools=given, must_call=must,
        max_new_tokens=body.number("max_completion_tokens", older, least=1),
    )  # fmt: skip
    if must and asked.schema is not None:
        raise RequestError("response_format and a tool that must be called exclude each other", param="response_format")
    return asked


def _asked(body: Body, limits: Limits, **more: Any) -> Asked:
    stop = body.take("stop", (str, list), "a string or a list of strings", [])
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if len(stops) > MAX_STOPS or not all(isinstance(each, str) and each for each in stops):
        raise wrong("stop", stop, f"a string or at most {MAX_STOPS} strings, none of them empty")
    stream = body.take("stream", (bool,), "true or false", False)
    told = body.take("stream_options", (dict,), "an object", {})
    if more["max_new_tokens"] is not None and more["max_new_tokens"] > limits.new_tokens:
        raise RequestError(f"max_tokens is {more['max_new_tokens']}; this server generates at most {limits.new_tokens}")
    options = {"temperature": 1.0} | {
        name: value for name in SAMPLING if (value := body.take(name, (int, float), "a number")) is not None
    }
    form = body.take("response_format", (dict,), "an object", {"type": "text"})
    bias = body.take("logit_bias", (dict,), "an object of ids and numbers")
    if bias:
        options["logit_bias"] = {_id(key): value for key, value in bias.items()}
    made = Asked(
        model=body.take("model", (str,), "the name of a model", ""), stop=stops, stream=stream,
        include_usage=bool(told.get("include_usage")), seed=body.number("seed"), schema=_schema(form),
        sampling=_sampling(options), **more,
    )  # fmt: skip
    body.done()
    return made


def _sampling(options: dict[str, Any]) -> Sampling:
    try:
        return Sampling(**options)
    except (TokkitError, TypeError) as error:
        raise RequestError(str(error)) from None


def _schema(form: dict[str, Any]) -> Any:
    """Return the JSON schema that a response_format asks for, None if any text will do."""
    kind, described = form.get("type"), form.get("json_schema")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind == "json_schema" and isinstance(described, dict) and isinstance(described.get("schema"), (dict, bool)):
        return described["schema"]
    what = 'of type text or json_object, or {"type": "json_schema", "json_schema": {"schema": …}}'
    raise wrong("response_format", form, what)


def _id(key: str) -> int:
    if not key.isdecimal():
        raise wrong("logit_bias", key, "an object whose keys are ids")
    return int(key)


def ids(value: object) -> bool:
    """Tell whether a value is a list of ids."""
    return isinstance(value, list) and bool(value) and all(type(id_) is int and 0 <= id_ < 1 << 32 for id_ in value)


def _prompts(given: Any) -> list[str | list[int]]:
    if isinstance(given, str) or ids(given):
        return [given]
    if given and all(isinstance(each, str) or ids(each) for each in given):
        return list(given)
    raise wrong("prompt", given, "a string, a list of strings, ids, or a list of lists of ids; not empty")


def _message(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("role"), str):
        raise wrong("messages", given, "a list of objects with role and content")
    content = given.get("content")
    if given.get("tool_calls"):
        given = {**given, "tool_calls": tools.called(given["tool_calls"])}
        content = "" if content is None else content
    if isinstance(content, list):
        parts = [
            part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in content
        ]
        if not all(isinstance(part, str) for part in parts):
            raise RequestError("the content of a message has parts that are not text", param="messages")
        content = "".join(parts)  # type: ignore[arg-type]
    if not isinstance(content, str):
        raise RequestError(f"the content of a message is {brief(content)}; it must be text", param="messages")
    return {**given, "content": content}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedVectors:
    """The parameters of a request to /v1/embeddings."""

    model: str
    texts: list[str]
    base64: bool


def embeddings(data: bytes, dimension: int) -> AskedVectors:
    """Return the parameters of a request to /v1/embeddings."""
    body = Body(data)
    given = body.take("input", (str, list), "a string or a list of strings")
    texts = [given] if isinstance(given, str) else given
    if not texts or not all(isinstance(text, str) for text in texts):
        raise wrong("input", given, "a string or a list of strings")
    if body.number("dimensions", dimension, least=1) != dimension:
        raise RequestError(f"dimensions: the vectors of this model have {dimension}", param="dimensions")
    form = body.take("encoding_format", (str,), "float or base64", "float")
    if form not in ("float", "base64"):
        raise wrong("encoding_format", form, "float or base64")
    made = AskedVectors(
        model=body.take("model", (str,), "the name of a model", ""), texts=texts, base64=form == "base64"
    )
    body.done()
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTokens:
    """The parameters of a request to /tokenize or /detokenize."""

    model: str
    text: str | None = None
    messages: Sequence[Mapping[str, Any]] = ()
    special: bool = True
    ids: Sequence[int] = ()


def tokenize(data: bytes) -> AskedTokens:
    """Return the parameters of a request to /tokenize: `prompt`, `content` or `text`, or `messages`."""
    body = Body(data)
    found = [
        text for name in ("prompt", "content", "text") if (text := body.take(name, (str,), "a string")) is not None
    ]
    messages = body.take("messages", (list,), "a list of messages", [])
    if len(found) + bool(messages) != 1:
        raise RequestError("give the text as prompt, or give messages", param="prompt")
    special = body.take("add_special", (bool,), "true or false", True)
    made = AskedTokens(
        model=body.take("model", (str,), "the name of a model", ""), text=found[0] if found else None,
        messages=tuple(_message(each) for each in messages),
        special=body.take("add_special_tokens", (bool,), "true or false", special),
    )  # fmt: skip
    body.done()
    return made


def detokenize(data: bytes) -> AskedTokens:
    """Return the parameters of a request to /detokenize: `tokens`, a list of ids."""
    body = Body(data)
    tokens = body.take("tokens", (list,), "a list of ids", [])
    if tokens and not ids(tokens):
        raise wrong("tokens", tokens, "a list of ids")
    made = AskedTokens(model=body.take("model", (str,), "the name of a model", ""), ids=tokens)
    body.done()
    return made


Reader = Callable[[bytes, Limits], Asked]
