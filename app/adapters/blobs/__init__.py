"""Blobs in a folder or in an S3-compatible store."""

from app.adapters.blobs.store import ObjectBlobStore

__all__ = ["ObjectBlobStore"]
