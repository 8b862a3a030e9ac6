"""`python -m solver` is the command `slabwave`."""

from solver.cli.main import entry

if __name__ == "__main__":
    entry()
