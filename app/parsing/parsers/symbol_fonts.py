"""What the letters of fonts of symbols show (Adobe's Symbol encoding; what is used most of Wingdings).

Word keeps such a letter as its code, mostly moved into the private use area (ECMA-376 part 1, 17.3.3.30).
"""

_MOVED_BY = 0xF000
_SYMBOL_LOW = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
_SYMBOL_HIGH = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"
_SYMBOL = dict(enumerate(_SYMBOL_LOW, 0x20)) | dict(enumerate(_SYMBOL_HIGH, 0xA0))
_WINGDINGS = {
    **{0x6C: "●", 0x6E: "■", 0x6F: "☐", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
    **{0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "→", 0xA7: "▪", 0x76: "❖", 0xD8: "➢"},
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def is_symbol_font(font: str) -> bool:
    return font.lower() in _FONTS


def symbol(font: str, code: int) -> str:
    """The character that a font shows for a code; empty where it isn't known."""
    return _FONTS.get(font.lower(), {}).get(code - _MOVED_BY if code >= _MOVED_BY else code, "")
