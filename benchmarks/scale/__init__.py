"""How time and memory grow: sizes, disks, workers, pages."""
