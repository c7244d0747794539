"""`python -m isotherm.cli` is `isotherm`."""

from isotherm.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
