"""Components that split, join and make trees."""
