"""Pictures as documents: their formats, their pages, the way they lie, and those that are too much."""

import io
import struct
import zlib

import pytest
from PIL import Image

from app.core.errors import ParseFailed
from app.parsing.limits import ParseLimits
from tests.parsing.conftest import Parse
from tests.parsing.drawing import CHINESE, png, texts

FIRST = texts((60, 100, "The first picture of the harbour"), (60, 130, "and of its lighthouse"), size=18)
SECOND = texts((60, 100, "第二张图片里的灯塔"), size=20, font=CHINESE)


def image_of(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF"])
def test_every_format_is_told_and_read(parse: Parse, form: str) -> None:
    document = parse(saved(image_of(png(FIRST)).convert("RGB"), form), "no extension")
    assert document.media_type == Image.MIME[form]
    assert "The first picture of the harbour" in document.text
    assert (document.page_count, document.page_modes) == (1, ["ocr"])
    element = document.elements[0]
    assert element.confidence is not None
    assert element.bbox is not None
    scale = 150 / 72
    assert (element.bbox.left, element.bbox.bottom) == pytest.approx((60 * scale, 135 * scale), abs=20)


def test_a_tiff_has_pages(parse: Parse) -> None:
    pages = [image_of(png(draw)).convert("L") for draw in (FIRST, SECOND)]
    document = parse(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]), "fax.tif")
    assert document.page_count == 2
    assert [(element.page, element.text) for element in document.elements if element.page == 2 and element.text] == [
        (2, "第二张图片里的灯塔")
    ]


def test_only_the_first_frame_of_a_gif_is_read(parse: Parse) -> None:
    frames = [image_of(png(draw)).convert("P") for draw in (FIRST, SECOND)]
    document = parse(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]), "a.gif")
    assert document.page_count == 1
    assert "灯塔" not in document.text
    assert document.warnings == ["Only its first frame was read."]


def test_a_photograph_is_read_as_it_was_taken(parse: Parse) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    content = saved(image_of(png(FIRST)).convert("RGB").transpose(Image.Transpose.ROTATE_90), "JPEG", exif=exif)
    document = parse(content, "a.jpg")
    element = document.elements[0]
    assert element.text.startswith("The first picture")
    assert element.bbox is not None
    assert (element.bbox.left, element.bbox.bottom) == pytest.approx((125, 281), abs=20)


@pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA", "CMYK", "I;16"])
def test_ways_to_hold_colours(parse: Parse, mode: str) -> None:
    plain = image_of(png(FIRST)).convert("L")
    if mode in ("LA", "RGBA"):  # black letters on nothing
        content = saved(
            Image.merge("LA", (Image.new("L", plain.size, 0), plain.point(lambda v: 255 - v))).convert(mode), "PNG"
        )
    elif mode == "I;16":
        content = saved(plain.convert("I").point(lambda v: v * 200).convert("I;16"), "TIFF")
    else:
        content = saved(plain.convert(mode), "TIFF")
    assert "The first picture of the harbour" in parse(content, "a").text


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that unpacks to very many black pixels."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    pixels = zlib.compress(bytes((width // 8 + 1) * height), 9)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bomb(20_000, 20_000), "too_complex"),
        (bomb(12_000, 9_000), "too_complex"),
        (bomb(400, 400), "no_text"),
        (png(FIRST)[:2000], "damaged"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "damaged"),
        (b"GIF89a" + bytes(3), "damaged"),
    ],
    ids=["bomb", "large", "black", "cut off", "no picture", "no frame"],
)
def test_bad_pictures_end_with_a_reason(parse: Parse, content: bytes, reason: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.png")
    assert failed.value.error_code == reason


def tiff(*pages: Image.Image) -> bytes:
    return saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])


def test_the_number_of_pages_is_bounded(parse: Parse) -> None:
    first, second = (image_of(png(draw)).convert("L") for draw in (FIRST, SECOND))
    document = parse(tiff(first, first, second), "a.tif", limits=ParseLimits(frames=2))
    assert document.page_count == 2
    assert "灯塔" not in document.text
    assert document.warnings == ["Frames after the first 2 were not read."]


def test_pages_for_which_there_was_no_time_are_told(parse: Parse) -> None:
    first, second = (image_of(png(draw)).convert("L") for draw in (FIRST, SECOND))
    document = parse(tiff(first, second), "a.tif", limits=ParseLimits(ocr_seconds=0))
    assert document.page_count == 1
    assert document.warnings == ["Time for recognising text was up before page 2 of 2."]
