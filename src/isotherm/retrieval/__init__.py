"""Retrieval: documents ranked by a query, through the topics of fitted aspect models."""
