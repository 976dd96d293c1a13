"""Protocols of everything outside the process, and the value types that cross them. No implementation lives here.

Every method takes the caller's `TenantScope`: an adapter never sees, returns or removes another tenant's data.
A failing or late engine raises `EngineUnavailable` (may be retried); a refused request raises `EngineRejected`.
The contract suites in `tests/contracts` say the rest, and every adapter passes them.
"""
