"""`python -m isotherm` is `isotherm`, for whoever has not the latter on their path."""

from isotherm.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
