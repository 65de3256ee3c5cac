"""Runs the command line as `python -m tokkit`, with Ctrl-C handled while modules are still being imported."""

from tokkit.interrupts import ends_the_process


def main() -> None:
    """Import and run the command line."""
    ends_the_process()
    from tokkit.cli import main

    main()


if __name__ == "__main__":
    main()
