"""A file in, a `ParsedDocument` out, in this process. What strangers upload goes through `sandbox.parse_file`."""

import dataclasses

from app.parsing import media_types
from app.parsing.archives import Declarations, check_archive
from app.parsing.assemble import finish
from app.parsing.detect import detect
from app.parsing.document import ElementKind, ParsedDocument
from app.parsing.encryption import opened
from app.parsing.macros import WARNING, holds_macros
from app.parsing.reasons import parse_failure
from app.parsing.registry import registry
from app.parsing.source import Source

_ARCHIVES: dict[str, Declarations] = {
    **dict.fromkeys((media_types.DOCX, media_types.XLSX, media_types.XLSB, media_types.PPTX), Declarations.NONE),
    **dict.fromkeys((media_types.ODT, media_types.ODS, media_types.ODP), Declarations.NO_ENTITIES),
    media_types.EPUB: Declarations.ANY,
}
_WITH_MACROS = frozenset((*_ARCHIVES, media_types.DOC, media_types.XLS, media_types.PPT)) - {media_types.EPUB}


def parse_document(source: Source) -> ParsedDocument:
    """Detects the type, parses and cleans. `source.media_type` is ignored.

    Raises `ParseFailed` with a reason code.
    """
    detected = detect(source.path, source.file_name)
    with opened(source.path, detected, source.password, source.limits) as path:
        inner = detect(path, source.file_name) if detected.encrypted_office else detected
        return _parse(dataclasses.replace(source, path=path, media_type=inner.media_type))


def _parse(source: Source) -> ParsedDocument:
    parser = registry.parser_for(source.media_type)
    declarations = _ARCHIVES.get(source.media_type)
    if declarations is not None:
        check_archive(source.path, source.limits, declarations)
    document = finish(parser.parse(source))
    if not document.has_text:
        raise parse_failure("no_text")
    added = [WARNING] if source.media_type in _WITH_MACROS and holds_macros(source.path) else []
    return document.model_copy(
        update={"title": document.title or _title(document, source), "warnings": [*document.warnings, *added]}
    )


def _title(document: ParsedDocument, source: Source) -> str:
    """The first top heading, else the file's name."""
    for element in document.elements[:50]:
        if element.kind is ElementKind.HEADING and element.level == 1 and len(element.text) <= 200:
            return element.text
    return source.stem
