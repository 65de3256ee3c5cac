"""The version of tokkit; it is written only here."""

__version__ = "0.1.0"
