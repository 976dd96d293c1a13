"""PyMuPDF without its models, and without its voice.

PyMuPDF 2 imports its layout model (ONNX, 1.2 s and 100 MB) when it is imported. The text layer needs none of it, and a
process that forks must not hold a model's threads. None in `sys.modules` makes that import fail, as PyMuPDF allows; a
later import by name works again.
"""

import sys

_MODELS = [name for name in ("pymupdf.layout", "pymupdf4llm") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_MODELS))  # type: ignore[arg-type]  # the documented way to block an import
import pymupdf  # noqa: E402

for _name in _MODELS:
    del sys.modules[_name]

pymupdf.TOOLS.set_icc(False)  # profiles of colours take a tenth of reading a page, and nothing here needs true colours
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)

__all__ = ["pymupdf"]
