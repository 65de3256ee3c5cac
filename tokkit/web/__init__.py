"""Servers on this machine: requests over HTTP come in, answers and streams go out (extra `web`).

`access` is what every server has: who may ask, and how much. `api` is the server of `tokkit serve`; begin there.
"""

from tokkit.lazy import names

__all__ = ["Access", "Limits", "model_server"]
__getattr__ = names(
    __name__, {"Access": "tokkit.web.access", "Limits": "tokkit.web.access", "model_server": "tokkit.web.api"}
)
