"""How good and how repeatable maps are, and what they show."""
