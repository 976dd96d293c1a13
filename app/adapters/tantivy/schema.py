"""Fields of an entry, and filters and term queries over them. Queries are built as objects, never parsed from text.

`terms` is scored; everything else only filters. Ids that are read back are kept as pairs of 64-bit columns, because
the engine's Python binding reads numbers out of columns, thousands at once, but not text.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from tantivy import Document, FieldType, Occur, Query, Schema, SchemaBuilder

from app.adapters.text_fields import entry_key, microseconds, source_tokens, tag_token, term_count
from app.adapters.vector_payload import metadata_token
from app.core.scope import TenantScope
from app.ports.indexes import ChunkSource, IndexFilter

KEYWORDS = ("key", "tenant", "knowledge_base", "document", "tags", "metadata")
COLUMNS = ("chunk_high", "chunk_low", "document_high", "document_low")
_LOW = (1 << 64) - 1


def build_schema() -> Schema:
    builder = SchemaBuilder()
    for name in KEYWORDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    # Stored, because changing tags means writing the entry anew: the engine has no update in place.
    builder.add_text_field("terms", stored=True, tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("generation", indexed=True, fast=True)
    builder.add_integer_field("created", indexed=True, fast=True)
    builder.add_integer_field("version", fast=True)
    builder.add_integer_field("length", fast=True)
    for name in COLUMNS:
        builder.add_unsigned_field(name, fast=True)
    return builder.build()


def entry(scope: TenantScope, source: ChunkSource, terms: str, version: int) -> Document:
    """A document for the writer. Values are added one by one by type: a wrong type would end the writer's thread."""
    document = Document()
    document.add_text("key", entry_key(scope, source.chunk_id))
    document.add_text("tenant", str(scope.tenant_id))
    document.add_text("knowledge_base", str(source.knowledge_base_id))
    document.add_text("document", str(source.document_id))
    tags, metadata = source_tokens(source)
    for tag in tags:
        document.add_text("tags", tag)
    for token in metadata:
        document.add_text("metadata", token)
    document.add_text("terms", terms)
    document.add_integer("generation", source.generation)
    document.add_integer("created", microseconds(source.created_at))
    document.add_integer("version", version)
    document.add_integer("length", term_count(terms))
    for name, value in (("chunk", source.chunk_id.int), ("document", source.document_id.int)):
        document.add_unsigned(f"{name}_high", value >> 64)
        document.add_unsigned(f"{name}_low", value & _LOW)
    return document


class Queries:
    """Queries over one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def keys(self, keys: Iterable[str]) -> Query:
        return Query.term_set_query(self._schema, "key", list(keys))

    def held(self, scope: TenantScope, document_id: UUID | None, generation: int | None) -> Query:
        conditions = [self._one_of("tenant", [str(scope.tenant_id)])]
        if document_id is not None:
            conditions.append(self._one_of("document", [str(document_id)]))
        if generation is not None:
            conditions.append(self._between("generation", generation, generation))
        return _all_of(conditions)

    def given(self, scope: TenantScope, chunk_ids: Iterable[UUID]) -> Query:
        """The tenant's entries of the given chunks."""
        return self.keys(entry_key(scope, chunk_id) for chunk_id in chunk_ids)

    def in_knowledge_bases(self, scope: TenantScope, where: IndexFilter) -> Query:
        """The tenant's entries in the knowledge bases that are named, or all of the tenant's."""
        conditions = [self._one_of("tenant", [str(scope.tenant_id)])]
        if where.knowledge_base_ids:
            conditions.append(self._one_of("knowledge_base", map(str, where.knowledge_base_ids)))
        return _all_of(conditions)

    def holding(self, term: str, among: Query) -> Query:
        return _all_of([among, self._term(term)])

    def matching(self, scope: TenantScope, where: IndexFilter) -> Query:
        conditions = [self.in_knowledge_bases(scope, where)]
        if where.document_ids:
            conditions.append(self._one_of("document", map(str, where.document_ids)))
        if where.tags_any:
            conditions.append(self._one_of("tags", map(tag_token, where.tags_any)))
        conditions.extend(self._one_of("tags", [tag_token(tag)]) for tag in where.tags_all)
        for key, values in where.metadata.items():
            if values:
                conditions.append(self._one_of("metadata", [metadata_token(key, value) for value in values]))
        start = microseconds(where.created_from) if where.created_from else None
        end = microseconds(where.created_before) - 1 if where.created_before else None
        if start is not None or end is not None:
            conditions.append(self._between("created", start, end))
        excluded = []
        if where.excluded_document_ids:
            excluded.append(self._one_of("document", map(str, where.excluded_document_ids)))
        return _all_of(conditions, excluded)

    def scored(self, boosts: Mapping[str, float], filter_query: Query) -> Query:
        """BM25 of the terms over what the filter lets through; the filter adds nothing to the score."""
        terms = Query.boolean_query(
            [(Occur.Should, Query.boost_query(self._term(term), boost)) for term, boost in boosts.items()]
        )
        return Query.boolean_query([(Occur.Must, Query.const_score_query(filter_query, 0.0)), (Occur.Must, terms)])

    def _term(self, term: str) -> Query:
        return Query.term_query(self._schema, "terms", term, index_option="freq")

    def _one_of(self, field: str, values: Iterable[str]) -> Query:
        given = list(values)
        if len(given) == 1:
            return Query.term_query(self._schema, field, given[0], index_option="basic")
        return Query.term_set_query(self._schema, field, given)

    def _between(self, field: str, lowest: int | None, highest: int | None) -> Query:
        return Query.range_query(self._schema, field, FieldType.Integer, lowest, highest)


def _all_of(conditions: Sequence[Query], excluded: Sequence[Query] = ()) -> Query:
    return Query.boolean_query(
        [(Occur.Must, condition) for condition in conditions] + [(Occur.MustNot, condition) for condition in excluded]
    )
