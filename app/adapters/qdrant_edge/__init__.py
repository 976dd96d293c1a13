"""`VectorIndex` over Qdrant Edge, the Qdrant engine as a library: one folder a vector space, no server.

The Python binding holds the interpreter's lock in every call, a search as much as a compaction that takes seconds
(measured with 0.9.0: no other thread runs meanwhile). So the engine has a child process of its own, which ends with the
application's. That also confines what a damaged file can do to native code: the child dies, not the application.

- `shard`: the engine's calls, blocking; the only module that imports `qdrant_edge`
- `engine`: the child process, one call after another
- `process`: the application's end of the pipe
- `index`: the adapter
"""
