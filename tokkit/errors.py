"""All exceptions that tokkit raises on purpose; the base class is `TokkitError`."""

from tokkit.escaping import visible


class TokkitError(Exception):
    """Base class of all errors that tokkit raises on purpose; messages say what was given and what it must be.

    A message is one line: control characters in quoted input are escaped.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(visible(arg) if isinstance(arg, str) else arg for arg in args))


class VocabError(TokkitError, LookupError):
    """A token or an id that is not in the vocabulary, or an invalid vocabulary."""


class FormatError(TokkitError, ValueError):
    """A file that violates its format; the message names the line or key, and the reason."""


class OptionError(TokkitError, ValueError):
    """An option with an invalid value, such as a vocabulary size below the alphabet's."""


class SameFileError(OptionError):
    """An output file that is also an input file, perhaps by another name; the message has both names."""


class CorpusError(TokkitError, ValueError):
    """Text that cannot be used: empty, invalid UTF-8, or without the requested field."""


class SpecialTokenError(TokkitError, ValueError):
    """User input that contains the text of a special token, with `special="raise"`."""


class PatternError(TokkitError, ValueError):
    """A split pattern that cannot be compiled, or that took too long on a text."""


class GrammarError(OptionError):
    """A regular expression, JSON schema or list of choices that cannot be used, or that no token can satisfy."""


class ChatError(TokkitError, ValueError):
    """A chat template that cannot be read or run, or that rejects the messages; or jinja2 is not installed."""


class ShapeError(TokkitError, ValueError):
    """Arrays whose shapes do not fit together; the message has both shapes and the rule."""


class TrainingError(TokkitError, ValueError):
    """A training that cannot continue, because gradients stay NaN or infinite; the message names the weight."""


class WorkerError(TokkitError, OSError):
    """Workers of `tokkit.distributed` that cannot continue; finished work is kept and not repeated."""


class DownloadError(TokkitError, OSError):
    """A published file that is not on this machine, and that cannot or must not be downloaded."""
