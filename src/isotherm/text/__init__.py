"""From raw text and other people's formats to `Counts`."""
