"""`python -m tokkit` or the `tokkit` script in, the command line out, also where Ctrl-C comes before it is there."""

from tokkit.interrupts import ends_the_process


def main() -> None:
    """Import and run the command line."""
    ends_the_process()
    from tokkit.cli import main

    main()


if __name__ == "__main__":
    main()
