"""E-mail messages (RFC 5322, MIME): a short head, the best of its bodies, the names of what is attached.

A saved web page (`.mhtml`) is one too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32

from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.parsers.email_parts import attachments, bodies, content, header, parts
from app.parsing.parsers.html import html_elements
from app.parsing.parsers.text import text_elements
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_HEAD = ("From", "To", "Cc", "Date")
_METADATA = {"From": "author", "To": "to", "Cc": "cc", "Date": "date", "Message-ID": "message_id"}
_MAX_NESTING = 10


class EmlParser:
    def parse(self, source: Source) -> ParsedDocument:
        reader = _Reader(source.limits.cells)
        try:
            with source.path.open("rb") as file:
                message = BytesParser(policy=compat32).parse(file)
            reader.read(message, 1)
        except RecursionError as error:
            raise parse_failure("too_complex", "Its parts are nested too deeply.") from error
        named = ((name, header(message, key)) for key, name in _METADATA.items())
        return ParsedDocument(
            media_type=source.media_type,
            parser="email 1",
            title=header(message, "Subject"),
            elements=reader.elements,
            metadata={name: value for name, value in named if value},
            warnings=reader.warnings,
        )


@dataclass(slots=True)
class _Reader:
    max_cells: int
    elements: list[Element] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def read(self, message: Message, level: int) -> None:
        """A message with those inside it, each headed by its subject a level further down."""
        subject = header(message, "Subject")
        if subject:
            self.elements.append(Element(kind=ElementKind.HEADING, text=subject, level=level))
        head = "\n".join(f"{name}: {value}" for name in _HEAD if (value := header(message, name)))
        if head:
            self.elements.append(Element(kind=ElementKind.PARAGRAPH, text=head))
        for body in bodies(message):
            if body.get_content_type() != "message/rfc822":
                self.elements.extend(self._body(body))
            elif level < _MAX_NESTING:
                for inner in parts(body):
                    self.read(inner, level + 1)
            else:
                self.warnings.append("Messages that are nested still deeper were left out.")
        self.elements.extend(self._attached(message))

    def _body(self, part: Message) -> Iterator[Element]:
        decoded = content(part)
        if decoded.broken:
            self.warnings.append(f"{decoded.broken} characters could not be decoded as {decoded.encoding}.")
        if part.get_content_subtype() in ("html", "xhtml+xml"):
            yield from html_elements(decoded.text, max_cells=self.max_cells)
        else:
            yield from text_elements(decoded.text)

    def _attached(self, message: Message) -> Iterator[Element]:
        """Attachments by name. What has no name is a picture of a signature, or the like."""
        found = [attachment for attachment in attachments(message) if attachment.name]
        if not found:
            return
        yield Element(kind=ElementKind.PARAGRAPH, text="Attachments:")
        for attachment in found:
            size = f"{-(-attachment.size_bytes // 1024)} KB"
            text = f"{attachment.name} ({attachment.media_type}, {size})"
            yield Element(kind=ElementKind.LIST_ITEM, text=text, level=1)
        names = ", ".join(attachment.name for attachment in found[:10])
        self.warnings.append(f"{len(found)} attachments were left out; upload them as documents of their own: {names}.")
