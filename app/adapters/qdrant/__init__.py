"""`VectorIndex` over a Qdrant server (1.15 or later), one collection a vector space.

- `collection`: how the collection and its payload indexes are made
- `errors`: what the client raises, as this application's errors
- `index`: the adapter
"""
