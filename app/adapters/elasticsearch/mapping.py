"""Settings, mapping, entries and queries. Nothing here needs a plugin, a custom analyzer or a script."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from app.adapters.bm25 import K1, B
from app.adapters.text_fields import LAYOUT_VERSION, microseconds, source_tokens, tag_token, term_count
from app.adapters.vector_payload import metadata_token
from app.core.scope import TenantScope
from app.ports.indexes import ChunkSource, IndexFilter

Body = dict[str, Any]


def index_body(alias: str, *, shards: int) -> Body:
    """Body of the index's creation. All access goes through `alias`."""
    keyword: Body = {"type": "keyword"}
    return {
        "aliases": {alias: {}},
        "settings": {
            "number_of_shards": shards,
            "auto_expand_replicas": "0-1",
            # Every write that must be seen is followed by a refresh of its own.
            "refresh_interval": "30s",
            "similarity": {"bm25": {"type": "BM25", "k1": K1, "b": B}},
        },
        "mappings": {
            "dynamic": "strict",
            "_routing": {"required": True},
            "_meta": {"layout": LAYOUT_VERSION},
            "properties": {
                "tenant_id": keyword,
                "chunk_id": keyword,
                "knowledge_base_id": keyword,
                "document_id": keyword,
                "tags": keyword,
                "metadata": keyword,
                "generation": {"type": "long"},
                "created_at": {"type": "long"},
                "length": {"type": "long"},
                "terms": {
                    "type": "text",
                    "analyzer": "whitespace",
                    "similarity": "bm25",
                    "index_options": "freqs",
                },
            },
        },
    }


def entry(scope: TenantScope, source: ChunkSource, terms: str) -> Body:
    tags, metadata = source_tokens(source)
    return {
        "tenant_id": str(scope.tenant_id),
        "chunk_id": str(source.chunk_id),
        "knowledge_base_id": str(source.knowledge_base_id),
        "document_id": str(source.document_id),
        "generation": source.generation,
        "created_at": microseconds(source.created_at),
        "tags": tags,
        "metadata": metadata,
        "terms": terms,
        "length": term_count(terms),
    }


def held(scope: TenantScope, document_id: UUID | None, generation: int | None) -> Body:
    conditions = [_one_of("tenant_id", [str(scope.tenant_id)])]
    if document_id is not None:
        conditions.append(_one_of("document_id", [str(document_id)]))
    if generation is not None:
        conditions.append({"term": {"generation": generation}})
    return all_of(conditions)


def given(scope: TenantScope, chunk_ids: Iterable[UUID]) -> Body:
    """The tenant's entries of the given chunks."""
    return all_of([_one_of("tenant_id", [str(scope.tenant_id)]), _one_of("chunk_id", map(str, chunk_ids))])


def in_knowledge_bases(scope: TenantScope, where: IndexFilter) -> list[Body]:
    """Filters for the tenant's entries in the knowledge bases that are named, or all of the tenant's."""
    conditions = [_one_of("tenant_id", [str(scope.tenant_id)])]
    if where.knowledge_base_ids:
        conditions.append(_one_of("knowledge_base_id", map(str, where.knowledge_base_ids)))
    return conditions


def holding(terms: Iterable[str]) -> Body:
    """Aggregation `holding`: how many entries hold each term, in the order of the terms."""
    return {"holding": {"filters": {"filters": [{"term": {"terms": term}} for term in terms]}}}


LENGTHS: Body = {"length": {"stats": {"field": "length"}}}
"""Aggregation: how many entries there are, and how many terms they hold on average."""


def matching(scope: TenantScope, where: IndexFilter) -> tuple[list[Body], list[Body]]:
    """Conditions that must hold, and those that must not."""
    conditions = in_knowledge_bases(scope, where)
    if where.document_ids:
        conditions.append(_one_of("document_id", map(str, where.document_ids)))
    if where.tags_any:
        conditions.append(_one_of("tags", map(tag_token, where.tags_any)))
    conditions.extend(_one_of("tags", [tag_token(tag)]) for tag in where.tags_all)
    for key, values in where.metadata.items():
        if values:
            conditions.append(_one_of("metadata", [metadata_token(key, value) for value in values]))
    period: Body = {}
    if where.created_from:
        period["gte"] = microseconds(where.created_from)
    if where.created_before:
        period["lt"] = microseconds(where.created_before)
    if period:
        conditions.append({"range": {"created_at": period}})
    excluded = []
    if where.excluded_document_ids:
        excluded.append(_one_of("document_id", map(str, where.excluded_document_ids)))
    return conditions, excluded


def scored(boosts: Mapping[str, float], conditions: list[Body], excluded: Iterable[Body] = ()) -> Body:
    """BM25 of the terms, each times its boost, over what the filters let through."""
    terms = [{"term": {"terms": {"value": term, "boost": boost}}} for term, boost in boosts.items()]
    return {"bool": {"filter": conditions, "must_not": list(excluded), "should": terms, "minimum_should_match": 1}}


def all_of(conditions: list[Body]) -> Body:
    return {"bool": {"filter": conditions}}


def _one_of(field: str, values: Iterable[str]) -> Body:
    return {"terms": {field: list(values)}}
