"""Embedders: multilingual-e5-small in process, and any server that speaks OpenAI's `/v1/embeddings`."""
