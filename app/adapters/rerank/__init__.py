"""Rerankers. None is configured by default: the composition root then hands out no `Reranker` at all."""
