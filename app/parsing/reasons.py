"""Reason codes of documents that can't be read, each with the sentence that tells a person what to do."""

from app.core.errors import ParseFailed

REASONS: dict[str, str] = {
    "empty_file": "The file is empty. Upload a file that has content.",
    "unsupported_type": "This type of file is not supported. The README lists under “Formats” what is.",
    "encrypted": "The file is protected by a password. Upload it again with its password, or without the protection.",
    "damaged": "The file is damaged or was cut off. Open it in its own program, save it again and upload that.",
    "no_text_layer": "The file holds images in which no text was recognised. Upload a sharper scan, or one with text.",
    "no_text": "No text was found in the file.",
    "too_complex": "The file takes far more memory or time than its size allows. Split it, or save it in a simpler "
    "form.",
    "out_of_memory": "The file needs more memory than one document may use. Split it into smaller files.",
    "converter_missing": "This old format is read through LibreOffice, which is not installed here. Have it installed "
    "(the packages libreoffice-writer and libreoffice-impress), or save the file in the current format.",
    "timed_out": "The file took longer to read than one document may take. Split it into smaller files.",
    "parser_crashed": "The program that reads this type of file broke down on it. Save it again, or in another format.",
}


def parse_failure(reason: str, note: str = "") -> ParseFailed:
    """The error for a reason code; `note` adds what is special about this file, in a sentence."""
    return ParseFailed(f"{REASONS[reason]} {note}".strip(), code=reason)
