"""Files that isotherm writes and reads: archives without pickle, written whole or not at all."""
