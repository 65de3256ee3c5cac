"""`python -m tokkit` or the `tokkit` script in, the command line out, also where Ctrl-C comes before it is there."""

import sys


def main() -> None:
    """Import and run the command line; it handles Ctrl-C itself once it is imported."""
    try:
        from tokkit.cli import main

        main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("tokkit: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
