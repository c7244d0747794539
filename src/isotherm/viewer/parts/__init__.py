"""What the parts of the explorer's page contain: points, topics, stages of a cooling, words."""
