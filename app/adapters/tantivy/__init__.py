"""The embedded text index: Tantivy in the process, over a folder."""

from app.adapters.tantivy.index import TantivyIndex

__all__ = ["TantivyIndex"]
