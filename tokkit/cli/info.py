"""`tokkit info`: versions and the machine, for bug reports."""

from __future__ import annotations

from typing import Any

from tokkit.cli import options

UNICODE_TABLES = "16.0.0"
"""The Unicode version of `_core/csrc/text/unicode_tables.h`; a test compares the two."""
REQUIRED = ("numpy", "regex", "click")
EXTRAS = (
    "huggingface-hub", "jinja2", "tiktoken", "tokenizers", "gigatoken", "quicktok-v1", "toktok-rs", "nanotoken",
    "gigabpe", "hypothesis", "pytest",
)  # fmt: skip


@options.command(
    "info",
    short_help="Show versions, the machine, and what is installed.",
    examples=("tokkit info --json",),
)
@options.as_json
def command(json: bool) -> None:
    """Show versions of the libraries that tokkit uses, the CPUs, and which optional packages are installed."""
    from tokkit.cli.output import say, say_json

    about = facts()
    if json:
        say_json(about)
        return
    for name, value in about.items():
        text = ", ".join(f"{k} {v or 'absent'}" for k, v in value.items()) if isinstance(value, dict) else value
        text = "none" if value == {} else text
        say(f"{name.replace('_', ' '):<16} {text}")


def facts() -> dict[str, Any]:
    """Return all facts, in the order in which they are shown."""
    import os
    import platform
    import sys
    from pathlib import Path

    from tokkit._core import text
    from tokkit.cli.cpu_name import cpu_name
    from tokkit.registry.local_files import user_cache
    from tokkit.threads import thread_count
    from tokkit.version import __version__

    return {
        "tokkit": __version__,
        "installed_in": str(Path(__file__).resolve().parent.parent),
        "python": f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})",
        "packages": {name: version(name) for name in REQUIRED},
        "optional": {name: version(name) for name in EXTRAS},
        "unicode_tables": UNICODE_TABLES,
        "system": platform.platform(),
        "cpu": cpu_name(),
        "isa": f"{text.isa()} (this machine runs {', '.join(text.isas())})",
        "cpus": os.cpu_count(),
        "threads": thread_count(None),
        "core": Path(str(text.__file__)).name,
        **{f"build_{name}" if name == "flags" else name: value for name, value in text.build_facts().items()},
        "python_compiler": platform.python_compiler(),
        "gil": _gil(),
        # The address of a mirror may contain a password.
        "settings": {k: v for k, v in sorted(os.environ.items()) if k.startswith("TOKKIT_") and k != "TOKKIT_MIRROR"},
        "cache": str(user_cache()),
    }


def _gil() -> str:
    import sys
    import sysconfig

    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "on"
    running = getattr(sys, "_is_gil_enabled", lambda: False)()
    return "on, in a free-threaded build" if running else "off"


def version(package: str) -> str | None:
    """Return the version of an installed package, None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
