"""EPUB books and e-mail messages."""

import base64
from email.message import EmailMessage

import pytest

from app.core.errors import ParseFailed
from app.parsing.document import ElementKind
from app.parsing.parsers.email_parts import decoded_words
from app.parsing.parsers.xhtml import closed_as_html
from tests.parsing.conftest import Parse, of_kind, outline
from tests.parsing.office_files import archive

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
PAGE = "application/xhtml+xml"


def epub(
    pages: dict[str, str], *, spine: str | None = None, navigation: str = "", contents: str = "", encryption: str = ""
) -> bytes:
    """A book of XHTML bodies by name, in the order given or in that of `spine` (ids are the names)."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="{PAGE}"/>' for name in pages)
    items += f'<item id="n" href="nav.xhtml" media-type="{PAGE}" properties="nav"/>' if navigation else ""
    items += '<item id="c" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' if contents else ""
    order = "".join(f'<itemref idref="{name}"/>' for name in (spine.split() if spine else pages))
    members: dict[str, bytes | str] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": (
            '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>三国</dc:title>'
            f"<dc:creator>Luo</dc:creator></metadata><manifest>{items}</manifest><spine>{order}</spine></package>"
        ),
        "OEBPS/nav.xhtml": f"<html><body>{navigation}</body></html>",
        "OEBPS/toc.ncx": f"<ncx><navMap>{contents}</navMap></ncx>",
        **{f"OEBPS/{name}.xhtml": page(body) for name, body in pages.items()},
    }
    return archive({**members, **({"META-INF/encryption.xml": encryption} if encryption else {})})


def page(body: str) -> str:
    return f'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html><head><title/></head><body>{body}</body></html>'


def test_books_are_read_along_the_spine_with_titles(parse: Parse) -> None:
    links = '<li><a href="one.xhtml#x">第一回</a></li><li><a href="two.xhtml">Two</a></li>'
    book = epub(
        {"two": "<p>Two</p><p>second</p>", "one": "<h1/><p>first<a id='x'/></p>", "loose": "<p>not in the spine</p>"},
        spine="one n two",
        navigation=f'<nav epub:type="toc"><ol>{links}</ol></nav>',
    )
    document = parse(book, "a.zip")
    assert outline(document) == [
        ("heading", 1, "第一回"),
        ("paragraph", 0, "first"),
        ("heading", 1, "Two"),
        ("paragraph", 0, "second"),
    ]
    assert (document.title, document.metadata["author"], document.page_count) == ("三国", "Luo", None)


def test_older_books_name_chapters_in_their_table_of_contents(parse: Parse) -> None:
    contents = '<navPoint><navLabel><text>Begin</text></navLabel><content src="one.xhtml#p1"/></navPoint>'
    document = parse(epub({"one": "<p>text</p>", "two": "<h2>Own</h2><p>more</p>"}, contents=contents), "a.epub")
    assert outline(document)[0] == ("heading", 1, "Begin")
    assert outline(document)[2] == ("heading", 2, "Own")


def test_notes_stand_apart_from_what_they_are_notes_to(parse: Parse) -> None:
    text = (
        '<p>very<sup><a epub:type="noteref" href="#n">1</a></sup> simple</p><aside epub:type="footnote">a note</aside>'
    )
    document = parse(epub({"one": f"{text}<aside>beside</aside>"}), "a.epub")
    assert outline(document) == [("paragraph", 0, "very simple"), ("footnote", 0, "a note"), ("paragraph", 0, "beside")]


def test_copy_protection_is_told_and_scrambled_fonts_are_not(parse: Parse) -> None:
    def encryption(method: str, member: str) -> str:
        return (
            f'<encryption><EncryptedData><EncryptionMethod Algorithm="{method}"/><CipherData>'
            f'<CipherReference URI="{member}"/></CipherData></EncryptedData></encryption>'
        )

    fonts = encryption("http://www.idpf.org/2008/embedding", "OEBPS/font.otf")
    assert parse(epub({"one": "<p>text</p>"}, encryption=fonts), "a.epub").text == "text"
    with pytest.raises(ParseFailed) as failed:
        parse(epub({"one": "x"}, encryption=encryption("http://aes128-cbc", "OEBPS/one.xhtml")), "a.epub")
    assert failed.value.error_code == "encrypted"


@pytest.mark.parametrize(
    "content",
    [
        archive({"mimetype": "application/epub+zip"}),
        epub({"one": "x"}, spine="nothing"),
        archive({"mimetype": "application/epub+zip", "META-INF/container.xml": "<container>"}),
    ],
    ids=["no container", "no chapters", "broken"],
)
def test_damaged_books_say_so(parse: Parse, content: bytes) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.epub")
    assert failed.value.error_code == "damaged"


def test_entities_of_a_book_are_not_expanded(parse: Parse) -> None:
    bomb = '<!DOCTYPE p [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;">]>'
    book = epub({"one": f"{bomb}<p>&b;text</p>"})
    opf = archive({"mimetype": "application/epub+zip", "META-INF/container.xml": f"{bomb}<container>&b;</container>"})
    assert "xxxx" not in parse(book, "a.epub").text
    with pytest.raises(ParseFailed):
        parse(opf, "a.epub")


def test_xhtml_closes_in_place_what_html_does_not() -> None:
    assert closed_as_html('<title/><a id="x" /><br/><p>x</p>') == '<title></title><a id="x" ></a><br/><p>x</p>'


def test_messages_have_a_head_a_body_and_names_of_what_is_attached(parse: Parse) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "张三 <z@example.cn>", "li@example.com", "关于预算"
    message["Date"] = "Mon, 30 Nov 2026 10:00:00 +0800"
    message.set_content("plain")
    message.add_alternative("<p>Rich</p><ul><li>项目</li></ul>", subtype="html")
    message.add_attachment(b"x" * 3000, maintype="application", subtype="pdf", filename="预算表.pdf")
    document = parse(bytes(message), "upload")
    assert outline(document) == [
        ("heading", 1, "关于预算"),
        ("paragraph", 0, "From: 张三 <z@example.cn>\nTo: li@example.com\nDate: Mon, 30 Nov 2026 10:00:00 +0800"),
        ("paragraph", 0, "Rich"),
        ("list_item", 1, "项目"),
        ("paragraph", 0, "Attachments:"),
        ("list_item", 1, "预算表.pdf (application/pdf, 3 KB)"),
    ]
    assert (document.title, document.metadata["author"]) == ("关于预算", "张三 <z@example.cn>")
    assert document.warnings == ["1 attachments were left out; upload them as documents of their own: 预算表.pdf."]


def test_messages_inside_messages_are_read_a_level_down(parse: Parse) -> None:
    inner = EmailMessage()
    inner["Subject"], inner["From"] = "Inner", "b@example.com"
    inner.set_content("old text")
    outer = EmailMessage()
    outer["Subject"], outer["From"] = "Fwd", "a@example.com"
    outer.set_content("see below")
    outer.add_attachment(inner)
    assert outline(parse(bytes(outer), "a.eml")) == [
        ("heading", 1, "Fwd"),
        ("paragraph", 0, "From: a@example.com"),
        ("paragraph", 0, "see below"),
        ("heading", 2, "Inner"),
        ("paragraph", 0, "From: b@example.com"),
        ("paragraph", 0, "old text"),
    ]


@pytest.mark.parametrize("charset", ["gb2312", "utf-8", None, "x-unknown", "us-ascii"])
def test_charsets_are_believed_where_the_bytes_bear_them_out(parse: Parse, charset: str | None) -> None:
    text = "关于二〇二六年度预算的通知，請各單位遵照執行。"
    body = base64.b64encode(text.encode("gb18030")).decode()
    kind = f"text/plain; charset={charset}" if charset else "text/plain"
    mail = f"MIME-Version: 1.0\nFrom: a@b.c\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n{body}\n"
    assert parse(mail, "a.eml").text.endswith(text)


def test_headers_are_decoded_whatever_wrote_them() -> None:
    half = "关于二〇二六年预算的通知".encode("gb18030")
    words = [f"=?gb2312?B?{base64.b64encode(part).decode()}?=" for part in (half[:5], half[5:])]
    assert decoded_words(f"Re: {words[0]}\r\n {words[1]} tail") == "Re: 关于二〇二六年预算的通知 tail"
    assert decoded_words("关于预算的通知".encode("gb18030").decode("ascii", "surrogateescape")) == "关于预算的通知"
    assert decoded_words("=?utf-8?q?Caf=C3=A9_au?= =?iso-8859-1?q?_lait?=") == "Café au lait"
    assert decoded_words("=?utf-8?b?A?= =?none?q?b=?=") == "Ab"


def test_alternatives_fall_back_to_what_holds_text(parse: Parse) -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("only here")
    message.add_alternative("", subtype="html")
    assert parse(bytes(message), "a.eml").text == "x\n\nonly here"


@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/alternative; boundary=other"])
def test_parts_without_their_boundary_are_read_as_they_stand(parse: Parse, kind: str) -> None:
    message = f"From: Li\nMIME-Version: 1.0\nSubject: cut\nContent-Type: {kind}\n\nThe text is here.\n"
    assert parse(message, "a.eml").text.endswith("The text is here.")


def test_parts_may_nest_deeper_than_python_recurses(parse: Parse) -> None:
    depth = 3000
    head = "MIME-Version: 1.0\nSubject: deep\n"
    opened = "".join(f"Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n" for level in range(depth))
    with pytest.raises(ParseFailed) as failed:
        parse(f"{head}{opened}Content-Type: text/plain\n\nx\n", "a.eml")
    assert failed.value.error_code == "too_complex"


def test_a_letter_is_no_message_because_it_has_a_head(parse: Parse) -> None:
    document = parse("From: Li\nTo: Wang\nSubject: lunch\n\nAt noon?\n", "memo.txt")
    assert document.media_type == "text/plain"
    assert not of_kind(document, ElementKind.HEADING)


def test_a_text_part_that_is_a_file_is_attached(parse: Parse) -> None:
    message = EmailMessage()
    message["Subject"] = "log"
    message.set_content("see the log")
    message.add_attachment("many lines", filename="run.log")
    document = parse(bytes(message), "a.eml")
    assert "many lines" not in document.text
    assert document.elements[-1].text == "run.log (text/plain, 1 KB)"


@pytest.mark.parametrize("start", ['; start="<root>"', ""])
def test_the_page_among_related_parts_need_not_be_the_first(parse: Parse, start: str) -> None:
    picture = "Content-Type: image/png\nContent-ID: <picture>\n\nx\n"
    page = "Content-Type: text/html\nContent-ID: <root>\n\n<p>Text</p>\n"
    kind = f'multipart/related; boundary="b"{start}'
    head = f"From: a@example.com\nSubject: s\nMIME-Version: 1.0\nContent-Type: {kind}\n\n"
    document = parse(f"{head}--b\n{picture}\n--b\n{page}\n--b--\n", "a.eml")
    assert document.elements[-1].text == "Text"


@pytest.mark.parametrize("charset", ["utf-7", "hz-gb-2312", "iso-2022-kr"])
def test_mail_of_seven_bits(parse: Parse, charset: str) -> None:
    text = "내일 만나요" if charset.endswith("kr") else "明天见"
    head = f"From: a@example.com\nSubject: s\nMIME-Version: 1.0\nContent-Type: text/plain; charset={charset}\n\n"
    document = parse(head.encode() + text.encode(charset.removesuffix("-gb-2312")), "a.eml")
    assert document.elements[-1].text == text


def test_saved_pages_are_read_without_what_they_only_show(parse: Parse) -> None:
    page = "Content-Type: text/html\n\n<h1>Title</h1><p>Text</p>\n"
    style = "Content-Type: text/css\nContent-Location: a.css\n\np { color: red }\n"
    head = 'From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n'
    document = parse(f"{head}--b\n{page}\n--b\n{style}\n--b--\n", "page.mhtml")
    assert [element.text for element in document.elements][1:] == ["Title", "Text"]
