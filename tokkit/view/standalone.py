"""Builds one HTML page from styles, scripts and data; it loads nothing and runs no other code."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from tokkit.escaping import visible

SHARED = ("page.css", "drawing.js")
"""Files in every page: common styles, and functions that the scripts share."""


def standalone(title: str, body: str, files: Sequence[str], data: Mapping[str, object], *, calls: bool = False) -> str:
    """Return a page with this title, body and data, and with files of tokkit/view/pages included.

    `body` is HTML; scripts run after it, in order, in one scope. They read `data` as JSON from the element "data". No
    text in the title or the data can become markup or code: "<" is escaped, and the page's content security policy
    allows only this script, by its hash, and no requests, or with `calls` only those to the page's own server.
    """
    styles, script = (_joined([*SHARED, *files], ending) for ending in (".css", ".js"))
    connect = "connect-src 'self'; " if calls else ""
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(styles)}; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )
    heading = html.escape(visible(title)).encode("ascii", "xmlcharrefreplace").decode()
    # Only ASCII without "<", so that no text can end the script element.
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<style>{styles}</style>
</head>
<body>
<h1>{heading}</h1>
{body.strip()}
<script id="data" type="application/json">{text}</script>
<script>{script}</script>
</body>
</html>
"""


def in_base64(numbers: NDArray[np.generic], dtype: str) -> str:
    """Return an array as base64 text, which `numbers` in drawing.js reads; `dtype` is little-endian."""
    return base64.b64encode(np.ascontiguousarray(numbers, dtype=dtype).tobytes()).decode()


def _joined(files: Sequence[str], ending: str) -> str:
    folder = resources.files(__package__) / "pages"
    return "\n" + "\n".join((folder / name).read_text(encoding="utf-8") for name in files if name.endswith(ending))


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
