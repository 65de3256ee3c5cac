"""The base class of all components, which hold their JSON as in a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from tokkit.compat.tokenizers import json_text, values
from tokkit.errors import FormatError, TokkitError
from tokkit.files import strict_json
from tokkit.formats import components
from tokkit.formats.table_text import Part, written

CUSTOM = "Custom"
"""The "type" of a component in Python; the key "object" has it, as a `Held`."""


class Held:
    """A component in Python: it is only equal to itself, and JSON cannot hold it."""

    def __init__(self, part: Any) -> None:
        self.part = part


class Changes:
    """Counts the changes of all components: after any change, tokenizers check their own components."""

    count = 0


def changed() -> None:
    """Count one change of a component."""
    Changes.count += 1


class Setting:
    """An attribute that reads and writes a value of the component's JSON, with a check."""

    def __init__(
        self, check: values.Check, key: str = "", *, default: Any = None, show: Callable[[Any], Any] | None = None
    ) -> None:
        self.check, self.key, self.default, self.show = check, key, default, show

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.key = name, self.key or name

    def __get__(self, made: Any, owner: type) -> Any:
        if made is None:
            return self
        value = made._state[self.key]
        return value if self.show is None else self.show(value)

    def __set__(self, made: Any, value: Any) -> None:
        made._state[self.key] = self.check(self.name, value)
        changed()


class PatternSetting(Setting):
    """The pattern of a component, which can only be set once, and not be read."""

    def __init__(self) -> None:
        super().__init__(pattern)

    def __get__(self, made: Any, owner: type) -> Any:
        if made is None:
            return self
        raise TypeError("a pattern cannot be read as an attribute; the repr of the component has it")

    def __set__(self, made: Any, value: Any) -> None:
        raise AttributeError("a pattern cannot be changed; make a new component")


def pattern(name: str, value: Any) -> dict[str, str]:
    """Return a str or a Regex as JSON."""
    from tokkit.compat.tokenizers.regex import Regex

    if isinstance(value, Regex):
        return {"Regex": value.pattern}
    if not isinstance(value, str):
        raise values.wrong_type(name, value, "a str or a Regex")
    return {"String": value}


class Component:
    """A component. All objects for the same component (part of a sequence, or of a tokenizer) share `_state`."""

    _stage: ClassVar[str] = ""
    """The key in a tokenizer.json."""
    _kinds: ClassVar[dict[str, type[Component]]]
    """Type in the JSON → class; each stage has its own mapping."""
    _state: dict[str, Any]
    _kept: tuple[object, bytes] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Component in cls.__bases__:
            cls._kinds = {}
        else:
            cls._kinds[cls.__name__] = cls

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Make a component with defaults; TypeError for a base class."""
        if Component in cls.__bases__:
            raise TypeError(f"{cls.__name__} is a base class; make one of its subclasses, or use {cls.__name__}.custom")
        made = super().__new__(cls)
        made._state = {"type": cls.__name__, **cls._defaults()}
        return made

    @classmethod
    def _settings(cls) -> dict[str, Setting]:
        return {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {setting.key: setting.default for setting in cls._settings().values()}

    def _set(self, **given: Any) -> None:
        settings = self._settings()
        for name, value in given.items():
            self._state[settings[name].key] = settings[name].check(name, value)

    @classmethod
    def _of(cls, state: dict[str, Any]) -> Any:
        """Return a component that shares this JSON."""
        kind = state.get("type")
        made_by = cls if kind == CUSTOM else cls._kinds.get(str(kind))
        if made_by is None:
            raise FormatError(f"{cls._stage}.type is {kind!r}; it must be one of {', '.join(cls._kinds)}")
        made = object.__new__(made_by)
        if kind != CUSTOM:
            made_by._complete(state)
        made._state = state
        return made

    @classmethod
    def _complete(cls, state: dict[str, Any]) -> None:
        """Complete JSON with the defaults that old files leave out, in the order of new files."""
        given = dict(state)
        state.clear()
        state.update({"type": cls.__name__, **cls._defaults(), **given})

    @classmethod
    def _custom(cls, part: Any) -> Any:
        return cls._of({"type": CUSTOM, "object": Held(part)})

    def __getstate__(self) -> bytes:
        return dumped(self._json())

    def __setstate__(self, state: bytes) -> None:
        self._state = type(self)._of(json.loads(state))._state

    def _json(self) -> dict[str, Any]:
        return self._state

    _made: tuple[int, Any] | None = None

    def _runs(self) -> Any:
        """Return the tokkit component, made again after any change."""
        made = self._made
        if made is None or made[0] != Changes.count:
            made = self._made = Changes.count, run(self._stage, self._state)
        return made[1]

    def _part(self, *, pretty: bool) -> Part:
        """Return the JSON in a tokenizer.json, kept until any component changes: a charsmap in it is long."""
        key = Changes.count, pretty
        if self._kept is None or self._kept[0] != key:
            self._kept = key, written(json_of(self._json(), pretty=pretty, depth=1))
        text = self._kept[1]
        return lambda out: out.put(text)

    def _shown(self, most: int) -> str:
        if is_custom(self._state):
            dumped(self._state)
        return json_text.shown(self._json(), most)

    def __repr__(self) -> str:
        return self._shown(json_text.MAX_SHOWN)

    def __str__(self) -> str:
        return self._shown(json_text.MAX_IN_STR)


def json_of(state: dict[str, Any], *, pretty: bool = False, depth: int = 0) -> Part:
    """Return the JSON, of which values that are functions write themselves; FormatError for a component in Python."""
    try:
        return json_text.fields(state, pretty=pretty, depth=depth)
    except TypeError:
        raise FormatError("a component in Python cannot be written to a file, pickled or shown") from None


def dumped(state: dict[str, Any]) -> bytes:
    """Return the JSON on one line."""
    return written(json_of(state))


def is_custom(state: dict[str, Any] | None) -> bool:
    """Return whether this component contains a component in Python."""
    if state is None:
        return False
    parts = next((value for key, value in state.items() if key in LISTS), ())
    return state["type"] == CUSTOM or any(map(is_custom, parts))


LISTS = ("normalizers", "pretokenizers", "processors", "decoders")
"""Key of the components of a sequence."""


def run(stage: str, state: dict[str, Any]) -> Any:
    """Return the tokkit component for this JSON."""
    given = components.STAGES[stage]
    if not is_custom(state):
        return components.read(state, stage, given)
    name = "".join(part.title() for part in stage.split("_"))
    kinds = dict(given)

    def each(value: Any, path: str) -> list[Any]:
        items = enumerate(strict_json.typed(value, path, list))
        return [components.read(item, f"{path}[{i}]", kinds) for i, item in items]

    same = components.Field(lambda value, path: value, lambda value: value)
    sequence = given["Sequence"]
    kinds["Sequence"] = components.kind(sequence.target, **dict.fromkeys(sequence.fields, components.Field(each, list)))
    kinds[CUSTOM] = components.kind(f"compat.tokenizers.custom:{name}", object=same)
    return components.read(state, stage, kinds)


S = TypeVar("S", bound=Component)


class Parts(Generic[S]):
    """The base of the sequences of all stages: a list of components."""

    _key: ClassVar[str]
    _flat: ClassVar[bool] = True
    """Whether the components of a nested sequence are inserted into this one."""
    _state: dict[str, Any]
    _stage_class: ClassVar[type[Component]]

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {cls._key: []}

    @classmethod
    def _complete(cls, state: dict[str, Any]) -> None:
        for part in state[cls._key]:
            cls._stage_class._of(part)

    def _fill(self, name: str, given: Any) -> None:
        if not isinstance(given, list):
            raise values.wrong_type(name, given, "a list")
        parts: list[dict[str, Any]] = []
        for part in given:
            self._check(part)
            inner = part._state.get(self._key) if self._flat else None
            parts += [part._state] if inner is None else inner
        self._state[self._key] = parts

    def _check(self, part: Any) -> None:
        if not isinstance(part, self._stage_class):
            raise values.wrong_type("a part of a sequence", part, f"a {self._stage_class.__name__}")

    def __len__(self) -> int:
        return len(self._state[self._key])

    def __getitem__(self, index: int) -> S:
        part: S = self._stage_class._of(self._parts(index)[index])
        return part

    def __setitem__(self, index: int, value: S) -> None:
        self._check(value)
        self._parts(index)[index] = value._state
        changed()

    def _parts(self, index: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._state[self._key]
        if values.unsigned("index", index) >= len(found):
            raise IndexError(f"there is no component {index}; the sequence has {len(found)}")
        return found

    def __getnewargs__(self) -> tuple[list[Any]]:
        return ([],)


def failed(error: BaseException) -> TokkitError:
    """Return the error for an exception of a component in Python, with its class and message."""
    return TokkitError(f"{type(error).__name__}: {error}")
