"""Files: one versioned format for everything that is kept, and checkpoints of running fits."""
