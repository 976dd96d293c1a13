"""Text cut to what a model reads."""

from app.ports.embedder import TokenCounter


def first_tokens(text: str, most: int, tokens: TokenCounter) -> str:
    """The beginning of a text, `most` tokens of it at the most."""
    if len(text) <= most:  # no token but a rare ligature's is shorter than a character
        return text
    spans = tokens.spans(text)
    return text if len(spans) <= most else text[: spans[most - 1][1]]
