"""Compiles a chat template to run in Jinja2's sandbox, with the names that chat templates expect.

The sandbox prevents access to Python's internals and changes of arguments. A run also has a budget of steps and sizes
(budget.py). Comparisons of deeply shared values are not limited: if time matters, run templates of unknown origin in a
separate process.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tokkit import limits
from tokkit.chat import budget
from tokkit.errors import ChatError


@dataclass(slots=True)
class Run:
    """The state of one run of a template, besides its variables."""

    now: datetime
    marks: tuple[str, str] = ("", "")
    """The marks that are written before and after each generation block."""
    literals: Mapping[int, str] = field(default_factory=dict)
    """Replacements for some of the template's literals, by number."""


_run: ContextVar[Run] = ContextVar("run")


class _Hooks(Extension):
    """The tag `{% generation %}`, and the functions that compiled templates call: steps and literals."""

    tags = {"generation"}  # noqa: RUF012 - Jinja2's own form

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_generation"), [], [], body).set_lineno(line)

    def _generation(self, caller: Callable[[], str]) -> str:
        before, behind = _run.get().marks
        return before + caller() + behind

    def _step(self) -> str:
        budget.step()
        return ""

    def _joined(self, *parts: Any) -> str:
        made = "".join([str(budget.output(part)) for part in parts])
        budget.spend(made, "'~'")
        return made

    def _sliced(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        made = value[start:stop:step]
        budget.spend(made, "a slice")
        return made

    def _literal(self, number: int, text: str) -> str:
        return _run.get().literals.get(number, text)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        budget.operation(operator, left, right)
        made = super().call_binop(context, operator, left, right)
        budget.spend(made, repr(operator))
        return made

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        name = getattr(obj, "__name__", "")
        subject = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)
        budget.call(name, subject, args, kwargs)
        made = super().call(context, obj, *args, **kwargs)
        if made is not subject:
            budget.spend(made, repr(name))
        return made


def _raise_exception(message: str) -> NoReturn:
    raise ChatError(f"the chat template rejects these messages: {message}")


def _strftime_now(form: str) -> str:
    return _run.get().now.strftime(form)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja2's own filter escapes <, > and & for HTML.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _environment() -> tuple[_Environment, _Hooks]:
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Hooks, loopcontrols], finalize=budget.output
    )
    environment.filters["tojson"] = _to_json
    for name, function in environment.filters.items():
        environment.filters[name] = budget.bounded_filter(name, function)
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    hooks = environment.extensions[_Hooks.identifier]
    if not isinstance(hooks, _Hooks):
        raise ChatError("Jinja2 has replaced our extension by another one")
    return environment, hooks


class Program:
    """A compiled template. Immutable: threads may share it."""

    def __init__(self, source: str) -> None:
        environment, hooks = _environment()
        with _errors():
            tree = environment.parse(source)
            blocks = tree.find_all(nodes.CallBlock)
            self.has_generation = any(_is_call_of(block.call, "_generation") for block in blocks)
            self.takes_tools = any(name.name == "tools" for name in tree.find_all(nodes.Name))
            self._count_steps(tree, hooks)
            self._plain = environment.from_string(tree)
        self._source, self._environment, self._hooks = source, environment, hooks

    @functools.cached_property
    def _named(self) -> tuple[jinja2.Template, list[str]]:
        """The compiled template with a call in place of each literal, and the literals; few runs need it."""
        literals: list[str] = []
        with _errors():
            tree = self._environment.parse(self._source)
            self._count_steps(tree, self._hooks)
            self._name_literals(tree, self._hooks, literals)
            return self._environment.from_string(tree), literals

    @property
    def literals(self) -> list[str]:
        """The literals in the template that may be part of the output, by number."""
        return self._named[1]

    @staticmethod
    def _count_steps(tree: nodes.Template, hooks: _Hooks) -> None:
        bodies = [loop.body for loop in tree.find_all(nodes.For)] + [macro.body for macro in tree.find_all(nodes.Macro)]
        for body in bodies:
            body.insert(0, nodes.ExprStmt(hooks.call_method("_step")))
        _count_made(tree, hooks)

    def _name_literals(self, node: nodes.Node, hooks: _Hooks, found: list[str]) -> None:
        """Replace each literal by a call that may return another text, except names and operands of comparisons."""
        for name, value in node.iter_fields():
            kept = isinstance(node, (nodes.Getitem, nodes.Compare, nodes.Operand)) or name == "key"
            many = value if isinstance(value, list) else [value]
            for i, child in enumerate(many):
                text = child.data if isinstance(child, nodes.TemplateData) else getattr(child, "value", None)
                if isinstance(child, (nodes.Const, nodes.TemplateData)) and isinstance(text, str):
                    if kept and isinstance(child, nodes.Const):
                        continue
                    arguments: list[nodes.Expr] = [nodes.Const(len(found)), nodes.Const(text)]
                    call = hooks.call_method("_literal", arguments, lineno=child.lineno)
                    found.append(text)
                    if isinstance(value, list):
                        value[i] = call
                    else:
                        setattr(node, name, call)
                elif isinstance(child, nodes.Node):
                    self._name_literals(child, hooks, found)

    def run(self, variables: Mapping[str, Any], run: Run) -> str:
        """Return the output of the template; ChatError if it fails."""
        template = self._named[0] if run.literals else self._plain
        token, counted = _run.set(run), budget.spent.set(budget.Budget(limits.current()))
        try:
            with _errors():
                return template.render(variables)
        finally:
            budget.spent.reset(counted)
            _run.reset(token)


def _count_made(node: nodes.Node, hooks: _Hooks) -> None:
    """Replace each `~` and slice by a call, because Jinja2 has no hook to check their results."""
    for name, value in node.iter_fields():
        many = value if isinstance(value, list) else [value]
        for i, child in enumerate(many):
            if not isinstance(child, nodes.Node):
                continue
            _count_made(child, hooks)
            call = None
            if isinstance(child, nodes.Concat):
                call = hooks.call_method("_joined", child.nodes, lineno=child.lineno)
            elif isinstance(child, nodes.Getitem) and isinstance(child.arg, nodes.Slice):
                bounds = [bound or nodes.Const(None) for bound in (child.arg.start, child.arg.stop, child.arg.step)]
                call = hooks.call_method("_sliced", [child.node, *bounds], lineno=child.lineno)
            if call is not None:
                if isinstance(value, list):
                    value[i] = call
                else:
                    setattr(node, name, call)


def _is_call_of(call: nodes.Node, name: str) -> bool:
    return isinstance(call, nodes.Call) and getattr(call.node, "name", None) == name


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Convert the exceptions that a template can raise to ChatError."""
    try:
        yield
    except ChatError:
        raise
    except jinja2.TemplateSyntaxError as error:
        raise ChatError(f"the chat template, line {error.lineno}: {error.message}") from None
    except jinja2.TemplateError as error:
        raise ChatError(f"the chat template failed: {error}") from error
    except RecursionError:
        raise ChatError("the chat template nests or calls itself too deep") from None
    except SyntaxError as error:  # in the code that Jinja2 generates: `break` outside of a loop, too many parts
        raise ChatError(f"the chat template cannot be compiled: {error.msg}") from None
    except Exception as error:  # code in the template may raise anything
        raise ChatError(f"the chat template failed: {type(error).__name__}: {error}") from error
