"""`python -m polyonym.flows.cli` is the command `polyonym`."""

from polyonym.flows.cli import main

if __name__ == "__main__":
    main()
