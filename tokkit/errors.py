"""All exceptions that tokkit raises on purpose; the base class is `TokkitError`."""

from tokkit.escaping import visible


class TokkitError(Exception):
    """Base of all errors that tokkit raises on purpose; the message says what was given and what would be right.

    What was given may hold anything, and a message is one line: control characters are escaped.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(visible(arg) if isinstance(arg, str) else arg for arg in args))


class VocabError(TokkitError, LookupError):
    """A token or an id that the vocabulary does not have, or a vocabulary that cannot work."""


class FormatError(TokkitError, ValueError):
    """A file that does not follow its format; the message names the line or key, and the reason."""


class OptionError(TokkitError, ValueError):
    """An option whose value cannot work, such as a vocabulary size below the alphabet's."""


class SameFileError(OptionError):
    """An output that is, by whatever name, one of the files that are read for it; the message has both names."""


class CorpusError(TokkitError, ValueError):
    """Training or input text that cannot be used: empty, not UTF-8, or without the field asked for."""


class SpecialTokenError(TokkitError, ValueError):
    """The text of a special token inside user input, where the caller asked that this be an error."""


class PatternError(TokkitError, ValueError):
    """A split pattern that cannot be compiled, or that took too long on a text."""


class ChatError(TokkitError, ValueError):
    """A chat template that cannot be read or run, or that refuses the messages; or one without jinja2 to run it."""


class ShapeError(TokkitError, ValueError):
    """Arrays that do not fit together; the message gives both shapes and the rule that they break."""


class DownloadError(TokkitError, OSError):
    """A published file that is not on this machine, and that cannot, or may not, be downloaded."""
