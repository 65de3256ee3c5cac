"""Runs the command line as `python -m tokkit`, with Ctrl-C handled while modules are still being imported."""

from tokkit.interrupts import ends_the_process

ends_the_process()  # not in main: Ctrl-C at its call would come before its first line


def main() -> None:
    """Import and run the command line."""
    from tokkit.cli import main

    main()


if __name__ == "__main__":
    main()
