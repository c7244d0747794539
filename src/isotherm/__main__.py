"""`python -m isotherm` is `isotherm`, for when the script is not on the path."""

from isotherm.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
