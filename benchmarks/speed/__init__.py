"""What a sweep, a kernel, a count of words costs."""
