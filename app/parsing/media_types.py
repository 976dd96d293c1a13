"""Names of the types that can be told apart by content, and what people call them."""

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
DOC = "application/msword"
XLS = "application/vnd.ms-excel"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
PPT = "application/vnd.ms-powerpoint"
ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"
EPUB = "application/epub+zip"
RTF = "application/rtf"
EML = "message/rfc822"
ZIP = "application/zip"
OLE = "application/x-ole-storage"
PNG = "image/png"
JPEG = "image/jpeg"
GIF = "image/gif"
TIFF = "image/tiff"
BMP = "image/bmp"
WEBP = "image/webp"
HTML = "text/html"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSONL = "application/jsonl"
MARKDOWN = "text/markdown"
TEXT = "text/plain"

LABELS: dict[str, str] = {
    PDF: "a PDF document",
    DOCX: "a Word document",
    XLSX: "an Excel workbook",
    PPTX: "a PowerPoint presentation",
    DOC: "a Word document of the old format (.doc)",
    XLS: "an Excel workbook of the old format (.xls)",
    XLSB: "a binary Excel workbook (.xlsb)",
    PPT: "a PowerPoint presentation of the old format (.ppt)",
    ODT: "an OpenDocument text",
    ODS: "an OpenDocument spreadsheet",
    ODP: "an OpenDocument presentation",
    EPUB: "an EPUB book",
    RTF: "a Rich Text document",
    EML: "an e-mail message",
    ZIP: "a ZIP archive",
    OLE: "an OLE container",
    PNG: "a PNG image",
    JPEG: "a JPEG image",
    GIF: "a GIF image",
    TIFF: "a TIFF image",
    BMP: "a BMP image",
    WEBP: "a WebP image",
    HTML: "an HTML page",
    CSV: "comma-separated values",
    TSV: "tab-separated values",
    JSON: "a JSON text",
    JSONL: "a text of JSON lines",
    MARKDOWN: "a Markdown text",
    TEXT: "a plain text",
}
