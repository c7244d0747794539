"""The explorer: a page that shows a corpus, its topics, its tree and how they were annealed."""
