"""One module for each verb: `add_arguments` says what it takes, `run` does it.

No verb imports another one: what several need stands beside this folder.
"""
