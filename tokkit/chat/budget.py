"""Limits the size of what one run of a chat template makes, before it is made.

Every call, filter, operator and output of a template is checked here, with its arguments and result. Sizes are counted
in characters and items; a value that is contained several times counts each time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tokkit import limits
from tokkit.errors import ChatError

MAX_INDENT = 32
_FEW = 10_000
_SIZED = (str, bytes, list, tuple, dict, set, frozenset)
_NUMBER = re.compile(r"\d+")
_PERCENT = re.compile(r"%(?:\([^()]*\))?[#0\- +]*(\*|\d*)(?:\.(\*|\d*))?[hlL]?(.?)", re.DOTALL)
_BRACE = re.compile(r"\{\{|[{}]|[^{}]+")
_WIDTHS = frozenset(
    ("zfill", "ljust", "rjust", "center", "expandtabs", "indent", "slice", "batch", "to_bytes", "round")
)
"""Functions and filters whose output grows with a number among their arguments."""


@dataclass(slots=True)
class Budget:
    """The budget of one run."""

    limits: limits.Limits
    steps: int = 0
    size: int = 0


spent: ContextVar[Budget | None] = ContextVar("spent", default=None)


def _exceeded(name: str, what: str) -> ChatError:
    return limits.exceeded(name, f"the chat template {what}", ChatError)


def step() -> None:
    """Count one iteration of a loop, or one call of a macro."""
    if (budget := spent.get()) is not None:
        budget.steps += 1
        if budget.steps > (limit := budget.limits.template_steps):
            raise _exceeded("template_steps", f"took over {limit:,} steps (loop iterations and macro calls)")


def check(n: int, what: str) -> None:
    """Raise ChatError if n more characters or items exceed the limit; `what` names their origin."""
    budget = spent.get() or Budget(limits.current())  # Jinja2 evaluates constants before a run begins
    if n + budget.size > (limit := budget.limits.template_size):
        raise _exceeded("template_size", f"makes over {limit:,} characters or items, by {what}")


def spend(value: Any, what: str) -> None:
    """Count the size of a result."""
    if isinstance(value, _SIZED):
        check(len(value), what)
        if (budget := spent.get()) is not None:
            budget.size += len(value)


def written_size(value: Any, known: dict[int, int] | None = None) -> int:
    """Return the number of characters and items of a value when written; values that occur twice count twice."""
    if not isinstance(value, _SIZED) or isinstance(value, (str, bytes)):
        return len(value) if isinstance(value, (str, bytes)) else 1
    known = {} if known is None else known
    if id(value) not in known:
        known[id(value)] = 0  # inside itself, which Python writes as "..."
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        known[id(value)] = len(value) + sum(written_size(part, known) for part in parts)
    return known[id(value)]


def output(value: Any) -> Any:
    """Count the size of an output, by `{{ … }}` or into a variable, and return it."""
    if isinstance(value, str):
        spend(value, "its output")
    elif isinstance(value, _SIZED):
        check(written_size(value), "its output")
    return value


def operation(operator: str, left: Any, right: Any) -> None:
    """Check the operands of `*`, `**` and `%`."""
    for some, other in ((left, right), (right, left)):
        if operator == "*" and isinstance(other, int) and isinstance(some, _SIZED):
            check(len(some) * max(other, 0), "'*'")
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        check(left.bit_length() * max(right, 0), "'**'")
    if operator == "*" and isinstance(left, int) and isinstance(right, int):
        check(left.bit_length() + right.bit_length(), "'*'")
    if operator == "%" and isinstance(left, str):
        _check_format(left, right if isinstance(right, tuple) else (right,))


def call(name: str, subject: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Check the arguments of a filter, method or function before it runs."""
    given = [*arguments, *named.values()]
    integers = [abs(value) for value in given if isinstance(value, int)]
    texts = [value for value in given if isinstance(value, str)]
    widest, longest = max(integers, default=0), max(map(len, texts), default=0)
    n = len(subject) if isinstance(subject, _SIZED) else 1
    what = f"{name!r}"
    if name in _WIDTHS:
        check(widest, what)
    if name in ("expandtabs", "indent"):
        check(n * max(widest, longest), what)
    elif name in ("slice", "batch") and widest > n + _FEW:
        raise ChatError(f"the chat template asks {what} for {widest:,} parts of {n} items")
    elif name == "replace" and len(texts) > 1 and isinstance(subject, str):
        check(n + subject.count(texts[0]) * len(texts[1]), what)
    elif name == "join":
        items = subject if isinstance(subject, (list, tuple)) else given[0] if given else ()
        glue = longest if isinstance(subject, (list, tuple)) else n
        check(glue * (len(items) if isinstance(items, _SIZED) else 1) + written_size(items), what)
    elif name in ("wordwrap", "urlize", "xmlattr"):
        check(n * max(longest, 1), what)
    elif name == "translate" and given and isinstance(given[0], Mapping):
        check(n * max((len(value) for value in given[0].values() if isinstance(value, str)), default=1), what)
    elif name in ("format", "format_map"):
        _check_format(subject if isinstance(subject, str) else "", given)
    elif name == "tojson":
        _check_indent(arguments[1] if len(arguments) > 1 else named.get("indent"))
        check(written_size(subject), what)
    elif name in ("string", "pprint", "urlencode", "escape", "e", "forceescape", "safe", "sum"):
        check(written_size(subject), what)
    elif name == "generate_lorem_ipsum":
        check(1000 * widest * max(len(integers), 1), what)


def _check_format(form: str, given: Any) -> None:
    """Check the widths of a format, in the format or among its arguments."""
    values = list(given.values()) if isinstance(given, Mapping) else list(given)
    stated, looked_up = _percent_widths(form)
    fields, inner = _brace_fields(form)
    stated += _NUMBER.findall(fields)
    if "[" in inner or "." in inner:
        raise ChatError("the chat template formats with a width that it looks up in a value; write the width itself")
    given_widths = [abs(value) for value in values if isinstance(value, int)]
    if inner:
        given_widths += [_number(n) for value in values if isinstance(value, str) for n in _NUMBER.findall(value)]
    widths = sum(map(_number, stated)) + (looked_up + inner.count("{")) * max(given_widths, default=0)
    check(len(form) + widths + sum(map(written_size, values)), "'format'")


def _number(digits: str) -> int:
    return min(int(digits[:12]), 1 << 40)


def _percent_widths(form: str) -> tuple[list[str], int]:
    """Return the widths and precisions after `%`, and how many come from arguments."""
    specs = _PERCENT.findall(form)
    if len(re.findall(r"%\([^()]*\)", form)) != form.count("%("):  # brackets in a name: its end is ambiguous
        return _NUMBER.findall(form), form.count("*")
    widths = [width for spec in specs for width in spec[:2]]
    return [width for width in widths if width.isdigit()], widths.count("*")


def _brace_fields(form: str) -> tuple[str, str]:
    """Return the contents of `{…}`, including nested braces, each with its `{`."""
    if "[" in form:  # in an index, braces have no meaning
        return form, "".join(re.findall(r"\{[^{}]*(\{.*)", form, re.DOTALL))
    depth, fields, inner = 0, [], []
    for part in _BRACE.findall(form):
        if part == "{{" and not depth:  # an escaped brace
            continue
        depth = max(depth + part.count("{") - part.count("}"), 0)
        if depth:
            fields.append(part)
        if depth > 1:
            inner.append(part)
    return "".join(fields), "".join(inner)


def _check_indent(indent: Any) -> None:
    width = indent if isinstance(indent, int) else len(indent) if isinstance(indent, str) else 0
    if width > MAX_INDENT:
        raise ChatError(f"the chat template asks for an indent of {width:,}; it must be at most {MAX_INDENT}")


def bounded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter with checked arguments and counted results."""
    passed = 1 if hasattr(function, "jinja_pass_arg") else 0  # Jinja2 passes its own first argument

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        subject = arguments[passed] if len(arguments) > passed else None
        call(name, subject, arguments[passed + 1 :], named)
        made = function(*arguments, **named)
        if made is not subject:
            spend(made, repr(name))
        return made

    return run
