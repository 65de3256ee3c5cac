"""The version of tokkit; no other place has it."""

__version__ = "0.1.0"
