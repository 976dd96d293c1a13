"""An e-mail message taken apart: decoded headers, what is its body, what is attached."""

import binascii
import re
from binascii import a2b_base64, a2b_qp
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.utils import collapse_rfc2231_value

from app.parsing.encoding import DecodedText, decode

_READ = frozenset(("text/plain", "text/html", "application/xhtml+xml", "text/markdown"))
_MAX_HEADER = 100_000
_ENCODED_WORD = re.compile(r"=\?([\w*.:-]{1,60})\?([bqBQ])\?([^?\s]*)\?=")


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    media_type: str
    size_bytes: int


def header(message: Message, name: str) -> str:
    """One header as text. `raw_items` gives bytes beyond ASCII as they came, in surrogates."""
    wanted = name.lower()
    return next((decoded_words(str(value)) for key, value in message.raw_items() if key.lower() == wanted), "")


def decoded_words(text: str) -> str:
    """Encoded words (RFC 2047) by the charset that they name, bytes that stand unencoded by what they look like.

    Neighbours of one charset are decoded together: writers cut characters of several bytes in two.
    """
    parts: list[str] = []
    pending, charset = b"", ""
    position = 0
    text = text[:_MAX_HEADER]
    for match in _ENCODED_WORD.finditer(text):
        between = text[position : match.start()]
        named = match[1].partition("*")[0].lower()
        if between.strip() or named != charset:
            parts.append(_text(pending, charset))
            parts.append(_restored(between) if between.strip() or not pending else "")
            pending, charset = b"", named
        pending += _word_bytes(match[2], match[3])
        position = match.end()
    parts.extend((_text(pending, charset), _restored(text[position:])))
    return " ".join("".join(parts).split())


def _word_bytes(encoding: str, word: str) -> bytes:
    if encoding in "qQ":
        return a2b_qp(word.encode("ascii", "replace"), header=True)
    try:
        return a2b_base64(word.encode("ascii", "replace") + b"==")
    except binascii.Error:
        return word.encode("ascii", "replace")


def _restored(text: str) -> str:
    return decode(text.encode("utf-8", "surrogateescape")).text if text else ""


def _text(data: bytes, charset: str) -> str:
    return decode(data, declared=charset).text if data else ""


def content(part: Message) -> DecodedText:
    """The text of a text part, in the charset that it names where the bytes bear that out.

    US-ASCII is what programs name that know none: it is never needed, since any other reading gives the same.
    """
    charset = part.get_content_charset()
    return decode(payload(part), declared=None if charset in ("us-ascii", "ascii") else charset)


def payload(part: Message) -> bytes:
    """The bytes of a part with its transfer encoding undone; none where it has parts of its own."""
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def file_name(part: Message) -> str:
    """The name a part gives its file, empty where it gives none."""
    raw = part.get_param("filename", header="content-disposition") or part.get_param("name")
    if raw is None:
        return ""
    name = collapse_rfc2231_value(raw)
    return decoded_words(name).replace("\\", "/").rpartition("/")[2]


def is_attachment(part: Message) -> bool:
    """Whether a part is a file of its own rather than text to be read: it says so, is named, or is no such text.

    What calls itself several parts and has none, for want of their boundary, is read as it stands.
    """
    if part.get_content_disposition() == "attachment":
        return True
    is_text = part.get_content_type() in _READ or part.get_content_maintype() == "multipart"
    return not is_text or bool(file_name(part))


def bodies(message: Message) -> Iterator[Message]:
    """Text parts and nested messages to be read, in order; of alternatives the best one."""
    kind = message.get_content_type()
    if kind == "message/rfc822":
        yield message
    elif not message.is_multipart():
        if not is_attachment(message):
            yield message
    elif kind == "multipart/alternative":
        best = _best(parts(message))
        if best is not None:
            yield from bodies(best)
    else:
        for part in _roots(message) if kind == "multipart/related" else parts(message):
            yield from bodies(part)


def _roots(message: Message) -> list[Message]:
    """Of related parts the one named as start, else the first (RFC 2387); the others are what it shows: pictures, style
    sheets. Writers that put a picture first name no start."""
    inside = parts(message)
    start = str(message.get_param("start") or "")
    named = [part for part in inside if start and str(part.get("Content-ID", "")).strip() == start.strip()]
    readable = [part for part in inside if part.is_multipart() or not is_attachment(part)]
    return (named or readable)[:1]


def _best(alternatives: list[Message]) -> Message | None:
    """HTML, which keeps lists and tables, unless it is empty; else plain text; else whatever comes last."""
    for kind in ("text/html", "text/plain"):
        for part in alternatives:
            for body in part.walk():
                if body.get_content_type() == kind and not is_attachment(body) and payload(body).strip():
                    return part
    return alternatives[-1] if alternatives else None


def parts(message: Message) -> list[Message]:
    inside = message.get_payload()
    return [part for part in inside if isinstance(part, Message)] if isinstance(inside, list) else []


def attachments(message: Message) -> Iterator[Attachment]:
    """Files that came with it, but not those of messages inside it."""
    if message.get_content_type() == "message/rfc822":
        return
    if message.is_multipart():
        for part in parts(message):
            yield from attachments(part)
    elif is_attachment(message):
        yield Attachment(file_name(message), message.get_content_type(), len(payload(message)))
