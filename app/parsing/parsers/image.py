"""Pictures: PNG, JPEG, TIFF with its pages, BMP, WebP and GIF, read by OCR; of what moves, the first frame."""

import struct
import time
import warnings
from collections.abc import Iterator
from itertools import islice

import numpy as np
from PIL import Image, ImageOps, ImageSequence

from app.parsing.document import ParsedDocument
from app.parsing.ocr import Picture, recognise
from app.parsing.parsers.ocr_lines import recognised_page
from app.parsing.parsers.pdf_elements import elements
from app.parsing.parsers.pdf_lines import PageLines
from app.parsing.parsers.pdf_modes import PageMode, counted, low_confidence, unsure_pages
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF")  # Pillow's other decoders stay shut
_MOST_PIXELS = 16_000_000  # of what OCR is given: it looks at no more
_UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, struct.error)
"""What Pillow raises on broken files."""


class ImageParser:
    def parse(self, source: Source) -> ParsedDocument:
        """Bounding boxes are in pixels of each picture as its EXIF orientation shows it.

        Raises `ParseFailed`: `damaged`, `too_complex`.
        """
        source.recognising()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata and of sizes, which are judged here
            try:
                with Image.open(source.path, formats=_FORMATS) as image:
                    count, goes_on = _frame_count(image, source.limits.frames)
                    pages = list(_pages(image, count, source))
            except Image.DecompressionBombError as error:
                raise parse_failure("too_complex") from error
            except _UNREADABLE as error:
                raise parse_failure("damaged") from error
        modes = [PageMode.OCR] * len(pages)
        return ParsedDocument(
            media_type=source.media_type,
            parser="rapidocr",
            page_count=len(pages),
            page_modes=list(modes),
            elements=list(elements(pages, {})),
            metadata={"page_modes": counted(modes)},
            warnings=list(_warnings(pages, count, goes_on=goes_on)),
        )


def _frame_count(image: Image.Image, most: int) -> tuple[int, bool]:
    """How many frames are to be read, and whether others follow them. Pillow's own count would follow them all."""
    if image.format != "TIFF":
        return 1, _is_animated(image)
    for number in range(1, most + 1):
        try:
            image.seek(number)
        except EOFError:
            return number, False
    return most, True


def _is_animated(image: Image.Image) -> bool:
    try:
        return bool(getattr(image, "is_animated", False))
    except _UNREADABLE:  # what follows the first frame is broken
        return True


def _pages(image: Image.Image, count: int, source: Source) -> Iterator[PageLines]:
    """The first `count` frames, as far as there is time; one at least."""
    started = time.process_time()
    for number, frame in enumerate(islice(ImageSequence.Iterator(image), count), start=1):
        if number > 1 and time.process_time() - started > source.limits.ocr_seconds:
            return
        if frame.width * frame.height > source.limits.picture_pixels:
            raise parse_failure("too_complex", f"It has {frame.width} x {frame.height} pixels.")
        picture, scale = _picture(frame)
        height, width = picture.shape[0] * scale, picture.shape[1] * scale
        yield recognised_page(recognise(picture), width, height, scale)
        source.progress(number, count)


def _warnings(pages: list[PageLines], count: int, *, goes_on: bool) -> Iterator[str]:
    unsure = unsure_pages((number, page.lines) for number, page in enumerate(pages, start=1))
    if unsure:
        yield low_confidence(unsure)
    if len(pages) < count:
        yield f"Time for recognising text was up before page {len(pages) + 1} of {count}."
    if goes_on:
        yield f"Frames after the first {count} were not read." if count > 1 else "Only its first frame was read."


def _picture(frame: Image.Image) -> tuple[Picture, float]:
    width, height = frame.size
    if width * height > _MOST_PIXELS:
        share = (_MOST_PIXELS / (width * height)) ** 0.5
        frame.draft("RGB", (int(width * share), int(height * share)))  # JPEG decodes to less at once
    upright = ImageOps.exif_transpose(_plain(frame))
    whole = max(width, height)
    if upright.width * upright.height > _MOST_PIXELS:
        share = (_MOST_PIXELS / (upright.width * upright.height)) ** 0.5
        upright = upright.resize((max(1, int(upright.width * share)), max(1, int(upright.height * share))))
    return np.asarray(upright, np.uint8), whole / max(upright.size)


def _plain(frame: Image.Image) -> Image.Image:
    """In red, green and blue: what is transparent is white, deep greys are spread over the range that they use."""
    if frame.mode.startswith(("I", "F")):
        values = np.asarray(frame, np.float64)
        low, high = float(values.min()), float(values.max())
        grey = (values - low) * (255 / (high - low)) if high > low else np.full(values.shape, 255.0)
        plain = Image.fromarray(grey.astype(np.uint8)).convert("RGB")
        plain.info["exif"] = frame.info.get("exif", b"")
        return plain
    if frame.has_transparency_data:
        layer = frame.convert("RGBA")
        paper = Image.new("RGB", frame.size, "white")
        paper.paste(layer, mask=layer.getchannel("A"))
        return paper
    return frame.convert("RGB")
