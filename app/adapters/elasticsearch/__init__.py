"""The text index on an Elasticsearch server, version 8 or 9."""

from app.adapters.elasticsearch.index import ElasticsearchIndex

__all__ = ["ElasticsearchIndex"]
