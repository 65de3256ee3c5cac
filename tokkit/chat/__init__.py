"""Chat templates: render messages as text or ids, as a model's template writes them (extra `chat`)."""

from tokkit import lazy

_MODULES = {
    "ChatTemplate": "tokkit.chat.template",
    "EncodedChat": "tokkit.chat.encode",
    "FittedChat": "tokkit.chat.fit",
    "Rendered": "tokkit.chat.rendered",
    "encode_chat": "tokkit.chat.encode",
    "fit_chat": "tokkit.chat.fit",
    "function_schema": "tokkit.chat.schema",
    "load_chat_template": "tokkit.chat.config",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
