import pytest

from app.parsing.encoding import declared_html_encoding, decode

CHINESE = "在整本书中，我们还提供了如何结合不同的提示技术以实现更具体结果的示例。"
TRADITIONAL = "台北看守所昨天抽查前總統陳水扁的房舍，引來扁的強烈不滿"
JAPANESE = "名前、年齢、住所。佐藤太郎は東京に住んでいます。"
KOREAN = "향후 판매하게 될 보험상품의 입원 및 사망"
RUSSIAN = "Москва — столица России, город федерального значения."
GREEK = "Η Ελλάδα είναι χώρα της νοτιοανατολικής Ευρώπης"
HEBREW = "היא שפה שמית, ממשפחת השפות האפרו-אסיאתיות"
ARABIC = "عندما يجتمع التفكير تأثيرات إيجابية"
FRENCH = "Les élèves français étudient à l’école où ça été créé."
GERMAN = "Über größere Städte können wir schön träumen."
TURKISH = "Bugün güneşli bir gün, çok güzel şehir ığdır"
THAI = "ประเทศไทยเป็นประเทศในเอเชียตะวันออกเฉียงใต้"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gb18030"),
        ("编号,名称,数量\n1,螺丝,20\n2,扳手,5\n", "gbk"),
        (TRADITIONAL, "big5"),
        (TRADITIONAL, "gb18030"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (KOREAN, "cp949"),
        (KOREAN, "iso2022_kr"),
        (CHINESE, "hz"),
        (f"Re: plan\n\n{CHINESE}\n-- \nLi\n", "hz"),
        ("a ~{b}~ c, ~{not shifted~} and ~{1", "ascii"),
        ("測試檔案", "big5"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "cp866"),
        (GREEK, "cp1253"),
        (HEBREW, "cp1255"),
        (ARABIC, "cp1256"),
        (FRENCH, "cp1252"),
        (GERMAN, "latin-1"),
        (TURKISH, "cp1254"),
        (THAI, "cp874"),
        *((text, wide) for text in (CHINESE, FRENCH) for wide in ("utf-8", "utf-8-sig", "utf-16", "utf-32")),
        *(
            (text, wide)
            for text in (CHINESE, TRADITIONAL, FRENCH, RUSSIAN, ARABIC, GREEK, HEBREW, KOREAN)
            for wide in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
        ),
    ],
)
def test_text_comes_back_from_its_encoding(text: str, encoding: str) -> None:
    text = text.replace("—", "-") if encoding == "cp866" else text
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.broken == 0


def test_a_cut_character_does_not_change_the_encoding() -> None:
    decoded = decode((CHINESE * 20).encode("gb18030")[:-1])
    assert decoded.encoding == "gb18030"
    assert decoded.broken == 1
    assert decoded.text.startswith(CHINESE)


@pytest.mark.parametrize("other", [(CHINESE, "gb18030"), (FRENCH, "cp1252"), (JAPANESE, "cp932")])
@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (50, 1), (1, 50)])
def test_lines_may_differ_in_their_encoding(other: tuple[str, str], ours: int, theirs: int) -> None:
    text, encoding = other
    decoded = decode(f"{CHINESE}\n".encode() * ours + f"{text}\r\n".encode(encoding) * theirs + b"ascii")
    assert decoded.text == f"{CHINESE}\n" * ours + f"{text}\r\n" * theirs + "ascii"
    assert (decoded.encoding, decoded.broken) == (f"utf-8, {encoding}", 0)


def test_surrogates_in_utf8_are_put_together_and_halves_counted() -> None:
    decoded = decode("👍é \ud83d\udc4d and \ud83d half".encode("utf-8", errors="surrogatepass"))
    assert (decoded.text, decoded.encoding, decoded.broken) == ("👍é 👍 and \ufffd half", "utf-8", 1)


def test_broken_utf8_stays_utf8() -> None:
    decoded = decode(CHINESE.encode() * 3 + b"\xff" + CHINESE.encode())
    assert decoded.encoding == "utf-8"
    assert decoded.broken == 1


def test_a_declared_encoding_is_believed_where_the_bytes_bear_it_out() -> None:
    assert decode("ñandú".encode("cp1250", "ignore"), declared="windows-1250").encoding == "cp1250"
    assert decode(CHINESE.encode("gb18030"), declared="utf-8").text == CHINESE
    assert decode(CHINESE.encode(), declared="gbk").text == CHINESE
    assert decode(CHINESE.encode("gb18030"), declared="no-such-encoding").text == CHINESE


def test_html_names_its_encoding() -> None:
    assert declared_html_encoding(b'<meta charset="gb2312">') == "gb2312"
    assert declared_html_encoding(b'<meta http-equiv="Content-Type" content="text/html; charset=Big5">') == "Big5"
    assert declared_html_encoding(b"<p>none</p>") is None
