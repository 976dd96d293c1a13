"""The one tokenizer of both text engines: text in, terms out. Pure, thread-safe, linear in the length of the text."""

from app.terms.analyzer import ANALYZER_VERSION, MAX_TERM_LENGTH, index_terms, query_terms

__all__ = ["ANALYZER_VERSION", "MAX_TERM_LENGTH", "index_terms", "query_terms"]
