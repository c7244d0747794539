"""Annealing: the only sweep loop, and the schedules, rules and records around it."""
