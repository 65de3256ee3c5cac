"""Chat templates (extra `chat`): render messages with a model's template to text, ids or masks.

Begin with template.py, which renders; config.py finds a tokenizer's templates, sandbox.py limits what they may do.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.chat.config import load_chat_template as load_chat_template
    from tokkit.chat.encode import EncodedChat as EncodedChat
    from tokkit.chat.encode import encode_chat as encode_chat
    from tokkit.chat.fit import FittedChat as FittedChat
    from tokkit.chat.fit import fit_chat as fit_chat
    from tokkit.chat.rendered import Rendered as Rendered
    from tokkit.chat.schema import function_schema as function_schema
    from tokkit.chat.template import ChatTemplate as ChatTemplate
    from tokkit.chat.tool_calls import ToolCall as ToolCall
    from tokkit.chat.tool_calls import ToolCallStream as ToolCallStream
    from tokkit.chat.tool_calls import parse_tool_calls as parse_tool_calls

_MODULES = {
    "ChatTemplate": "tokkit.chat.template",
    "EncodedChat": "tokkit.chat.encode",
    "FittedChat": "tokkit.chat.fit",
    "Rendered": "tokkit.chat.rendered",
    "ToolCall": "tokkit.chat.tool_calls",
    "ToolCallStream": "tokkit.chat.tool_calls",
    "encode_chat": "tokkit.chat.encode",
    "fit_chat": "tokkit.chat.fit",
    "function_schema": "tokkit.chat.schema",
    "load_chat_template": "tokkit.chat.config",
    "parse_tool_calls": "tokkit.chat.tool_calls",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
