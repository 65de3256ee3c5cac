"""The vocabulary of the drawings in docs/: boxes, arrows, labels, strips of tokens and bars, written as SVG.

Coordinates are pixels from the upper left corner. Colours are classes of one style sheet with a light and a dark half,
on a card of its own colour: a drawing stays readable whichever theme the page around it has.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

EM = 7.9
"""Width of a character: monospace, 13 pixels high."""

ROW = 30
"""Height of a box."""

STYLE = """
text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328;text-anchor:middle;white-space:pre}
.card{fill:#ffffff;stroke:#d1d9e0}.box{fill:#eef2f6;stroke:#8b949e}.hot{fill:#ffe3a3;stroke:#9a6700}
.cool{fill:#cfe8ff;stroke:#0969da}.good{fill:#d2f4d8;stroke:#1a7f37}.off{fill:none;stroke:#8b949e;stroke-dasharray:4 3}
.line{stroke:#59636e;fill:none;stroke-width:1.4}.best{stroke:#bc4c00;fill:none;stroke-width:2.6}
.tip{fill:#59636e}.best-tip{fill:#bc4c00}.left{text-anchor:start}.right{text-anchor:end}
.small{font-size:11px;fill:#59636e}.head{font-weight:bold}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117;stroke:#3d444d}
.box{fill:#21262d;stroke:#8b949e}.hot{fill:#5c4400;stroke:#d29922}.cool{fill:#0c3a66;stroke:#4493f8}
.good{fill:#12411f;stroke:#3fb950}.line{stroke:#9198a1}.best{stroke:#f0883e}.tip{fill:#9198a1}.best-tip{fill:#f0883e}
.small{fill:#9198a1}}
""".strip()


def width_of(text: str) -> float:
    """Return the pixels that a text takes; characters of East Asian width take two places, marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) != 0 for character in text)
    return EM * (len(text) + wide - marks)


def shown(text: str) -> str:
    """Return a text with its spaces and line ends as visible characters."""
    return text.replace(" ", "␣").replace("\n", "↵")


@dataclass(frozen=True)
class Box:
    """A place that arrows may start from or end at."""

    x: float
    y: float
    width: float
    height: float = ROW

    @property
    def top(self) -> tuple[float, float]:
        """The middle of the upper edge."""
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> tuple[float, float]:
        """The middle of the lower edge."""
        return self.x + self.width / 2, self.y + self.height

    @property
    def left(self) -> tuple[float, float]:
        """The middle of the left edge."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        """The middle of the right edge."""
        return self.x + self.width, self.y + self.height / 2


@dataclass
class Drawing:
    """A drawing under construction: its parts in the order in which they are painted."""

    title: str
    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, text: str, *, kind: str = "box", width: float = 0, height: float = ROW) -> Box:
        """Draw a box around a text, as wide as the text asks if no width is given; lines are separated by a newline."""
        lines = text.split("\n")
        made = Box(x, y, width or max(map(width_of, lines)) + 14, height)
        corners = f'x="{_n(x)}" y="{_n(y)}" width="{_n(made.width)}" height="{_n(height)}" rx="4"'
        self.parts.append(f'<rect class="{kind}" {corners}/>')
        first = y + height / 2 + 4.5 - 8 * (len(lines) - 1)
        for number, line in enumerate(lines):
            self.label(x + made.width / 2, first + 16 * number, line)
        return made

    def label(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Write a text: around x, or from x ("left") or up to x ("right"); "small" and "head" are its looks."""
        classes = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text{classes} x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>')

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        text: str = "",
        *,
        best: bool = False,
        bend: float = 0,
    ) -> None:
        """Draw an arrow, bent upwards by so many pixels, with a text above its middle."""
        (x, y), (u, v) = start, end
        middle = (x + u) / 2, (y + v) / 2 - 2 * bend
        kind, tip = ("best", "best-tip") if best else ("line", "tip")
        curve = f"Q{_n(middle[0])} {_n(middle[1])} " if bend else "L"
        # The tip points where the line comes from: from the bend, or from the start.
        dx, dy = (u - middle[0], v - middle[1]) if bend else (u - x, v - y)
        length = (dx * dx + dy * dy) ** 0.5 or 1.0
        dx, dy = dx / length, dy / length
        self.parts.append(f'<path class="{kind}" d="M{_n(x)} {_n(y)}{curve}{_n(u - 5 * dx)} {_n(v - 5 * dy)}"/>')
        points = ((u, v), (u - 8 * dx + 4 * dy, v - 8 * dy - 4 * dx), (u - 8 * dx - 4 * dy, v - 8 * dy + 4 * dx))
        spots = " ".join(f"{_n(a)},{_n(b)}" for a, b in points)
        self.parts.append(f'<polygon class="{tip}" points="{spots}"/>')
        if text:
            self.label(middle[0], (y + v) / 2 - bend - 5, text, "small")

    def strip(
        self,
        x: float,
        y: float,
        tokens: Sequence[str],
        below: Sequence[object] = (),
        *,
        kinds: Sequence[str] = (),
        least: float = 0,
    ) -> list[Box]:
        """Draw a row of tokens, and under each what `below` has for it, as its id; return their boxes."""
        boxes = []
        for number, token in enumerate(tokens):
            under = str(below[number]) if below else ""
            width = max(width_of(token), width_of(under) * 0.85, least) + 12
            boxes.append(self.box(x, y, token, kind=kinds[number] if kinds else "box", width=width))
            if under:
                self.label(x + width / 2, y + ROW + 14, under, "small")
            x += width + 4
        return boxes

    def bar(self, x: float, y: float, width: float, *, kind: str, height: float = 14) -> None:
        """Draw a bar of a chart."""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 1))}" height="{_n(height)}" rx="2"'
        self.parts.append(f'<rect class="{kind}" {place}/>')

    def svg(self) -> str:
        """Return the file."""
        size = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}" width="{_n(self.width)}" height="{_n(self.height)}"'
        inner = f'width="{_n(self.width - 1)}" height="{_n(self.height - 1)}"'
        card = f'<rect class="card" x="0.5" y="0.5" {inner} rx="8"/>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">'
        title = f'<title id="title">{escape(self.title)}</title>'
        return "\n".join([head, title, f"<style>{STYLE}</style>", card, *self.parts, "</svg>", ""])


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
