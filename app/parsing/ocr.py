"""Text in pictures, recognised by PP-OCR (Chinese and English in one model) through RapidOCR and onnxruntime.

The models lie inside the `rapidocr` wheel. They are loaded at the first picture of a process, which is the parser's own
child: the server that it is forked from never holds them. Detection gives quadrangles, a classifier says which of them
stand upside down, recognition gives text and the mean probability of its characters.
"""

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rapidocr import RapidOCR

Picture = NDArray[np.uint8]
"""Rows, columns, red-green-blue."""
Point = tuple[float, float]

_UPSIDE_DOWN = "180"
_SURE = 0.9  # of the classifier, as RapidOCR itself wants it before it turns a line
_STANDING = 1.5  # RapidOCR lays regions that are this much higher than wide on their side before it reads them
_LONGEST_SIDE = 1664  # pixels that detection looks at: its time and memory grow with their square
_SMALLEST_SIDE = 16  # pixels: one line of small type; specks, enlarged for recognition, read as letters
_NOISE = 0.5  # confidence of letters seen in random pixels; RapidOCR itself drops the same by default


_MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class OcrLine:
    text: str
    confidence: float
    """0 to 1: the mean probability of its characters."""
    corners: tuple[Point, Point, Point, Point]
    """In pixels of the picture, as the text is read: from where it begins at the top, then clockwise."""


_read: dict[bytes, list[OcrLine]] = {}
"""What the last pictures read as, by hash and shape: the process is one document's."""


def recognise(picture: Picture) -> list[OcrLine]:
    """All lines of text in the picture, in no order that means anything. Unsure ones are among them, noise is not.

    What is of one colour is not looked at, and a picture that comes again, as small files show one on thousands of
    pages, not read again.
    """
    if min(picture.shape[:2]) < _SMALLEST_SIDE or picture.min() == picture.max():
        return []
    key = hashlib.blake2b(np.ascontiguousarray(picture).data, digest_size=32).digest() + repr(picture.shape).encode()
    if key not in _read:
        if len(_read) >= _MOST_KEPT:
            _read.pop(next(iter(_read)))
        _read[key] = _lines(picture)
    return _read[key]


def _lines(picture: Picture) -> list[OcrLine]:
    engine = _engine()
    image = np.ascontiguousarray(picture[:, :, ::-1])  # it wants blue-green-red
    boxes = getattr(engine(image, use_det=True, use_cls=False, use_rec=False), "boxes", None)
    if boxes is None or not len(boxes):
        return []
    # Step by step, because its single call hides which lines it turned, and so which way a page lies; and because it
    # would read letters from the picture that was made smaller for detection.
    pieces, turned = engine.cls_and_rotate(engine.crop_text_regions(image, boxes.astype(np.float32)))
    read = engine.recognize_txt(pieces)
    found = zip(boxes, turned.cls_res or (), read.txts or (), read.scores or (), strict=True)
    return [
        OcrLine(text.strip(), float(score), _as_read(box, upside_down=label == _UPSIDE_DOWN and sure >= _SURE))
        for box, (label, sure), text, score in found
        if text.strip() and score > _NOISE
    ]


def _as_read(box: NDArray[np.float32], *, upside_down: bool) -> tuple[Point, Point, Point, Point]:
    """Corners from where the text begins. RapidOCR gives them from the picture's top left, clockwise."""
    points: list[Point] = [(float(x), float(y)) for x, y in box]
    wide = max(_distance(points[0], points[1]), _distance(points[3], points[2]))
    high = max(_distance(points[0], points[3]), _distance(points[1], points[2]))
    first = (1 if high >= _STANDING * wide else 0) + (2 if upside_down else 0)
    a, b, c, d = points[first % 4 :] + points[: first % 4]
    return a, b, c, d


def _distance(one: Point, other: Point) -> float:
    return float(np.hypot(one[0] - other[0], one[1] - other[1]))


@cache
def _engine() -> "RapidOCR":
    # Here, because the import alone costs most of a second and 60 MB: only who has a picture pays for it.
    import rapidocr  # noqa: PLC0415

    models = Path(rapidocr.__file__).parent / "models"
    threads = max(1, (os.cpu_count() or 1) // 2)  # others work as well
    parameters = {
        "Global.log_level": "critical",
        "Global.max_side_len": _LONGEST_SIDE,
        # By path: otherwise it checks their hash at each start, and would download what is not there.
        "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
        "Cls.model_path": str(models / "ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
        "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
        "Rec.rec_batch_num": 1,  # more are slower, since all are made as wide as the widest, and take twice the memory
        "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        # Its arena stays off: over lines of all widths it grows from page to page, for a tenth of the time.
        "EngineConfig.onnxruntime.enable_cpu_mem_arena": False,
    }
    return rapidocr.RapidOCR(params=parameters)
