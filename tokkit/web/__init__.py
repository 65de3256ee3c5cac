"""Servers on this machine: requests over HTTP come in, answers and streams go out (extra `web`).

`access` is what every server has: who may ask, and how much. `api` is the server of `tokkit serve`; begin there.
`play` is the one of `tokkit play`.
"""

from tokkit.lazy import names

_MODULES = {
    "Access": "tokkit.web.access",
    "Limits": "tokkit.web.access",
    "model_server": "tokkit.web.api",
    "playground": "tokkit.web.play",
}
__all__ = sorted(_MODULES)
__getattr__ = names(__name__, _MODULES)
