"""An explorer behind a server: its pages, searches, limits, and what guards them."""
