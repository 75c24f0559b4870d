"""`python -m layoutcheck`: the command line."""

from layoutcheck.cli import main

if __name__ == "__main__":
    main()
