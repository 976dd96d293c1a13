"""Pictures: PNG, JPEG, TIFF with all its pages, BMP, WebP and GIF (their first frame), read by OCR."""

import struct
import warnings
from collections.abc import Iterator

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
        """Bounding boxes are in pixels of each picture as its EXIF orientation shows it."""
        source.recognising()
        pages: list[PageLines] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata and of sizes, which are judged here
            try:
                for picture, scale in _pictures(source):
                    height, width = picture.shape[0] * scale, picture.shape[1] * scale
                    pages.append(recognised_page(recognise(picture), width, height, scale))
            except Image.DecompressionBombError as error:
                raise parse_failure("too_complex") from error
            except _UNREADABLE as error:
                raise parse_failure("damaged") from error
        unsure = unsure_pages((number, page.lines) for number, page in enumerate(pages, start=1))
        modes = [PageMode.OCR] * len(pages)
        return ParsedDocument(
            media_type=source.media_type,
            parser="rapidocr",
            page_count=len(pages),
            page_modes=list(modes),
            elements=list(elements(pages, {})),
            metadata={"page_modes": counted(modes)},
            warnings=[low_confidence(unsure)] if unsure else [],
        )


def _pictures(source: Source) -> Iterator[tuple[Picture, float]]:
    """Each page with how many of its own pixels make one of the picture's."""
    with Image.open(source.path, formats=_FORMATS) as image:
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        if count > source.limits.pages:
            raise parse_failure("too_complex", f"It has {count} pages.")
        for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
            if frame.width * frame.height > source.limits.picture_pixels:
                raise parse_failure("too_complex", f"It has {frame.width} x {frame.height} pixels.")
            yield _picture(frame)
            source.progress(number, count)
            if number == count:
                return


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
