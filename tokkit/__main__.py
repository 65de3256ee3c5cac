"""`python -m tokkit` in, the command line out."""

from tokkit.cli import main

if __name__ == "__main__":
    main()
