"""HTTP servers for models and for the playground (extra `web`).

Begin with `api`, the server of `tokkit serve`. `play` is the server of `tokkit play`. `access` has what both share: who
may send requests, and their limits.
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
