"""`python -m flows.cli` is the command `polyonym`."""

from flows.cli import main

if __name__ == "__main__":
    main()
