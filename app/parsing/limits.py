"""What one document may use. The defaults fit two cores and a few gigabytes; settings may narrow or widen them."""

from pydantic import BaseModel, ConfigDict, Field

MEBIBYTE = 1024 * 1024


class ParseLimits(BaseModel):
    """Bounds of one parse. Passing any of them ends it with a reason code, never with a half-read document."""

    model_config = ConfigDict(frozen=True)

    wall_seconds: float = Field(default=300, gt=0)
    cpu_seconds: int = Field(default=300, gt=0)
    step_seconds: int = Field(default=30, gt=0)
    """Processor time from one page, sheet or chapter to the next (in formats without them, of the whole file), and on
    top of it `step_seconds_per_mebibyte` for the size of the file."""
    step_seconds_per_mebibyte: int = Field(default=10, ge=0)
    memory_bytes: int = Field(default=2048 * MEBIBYTE, gt=0)
    """Address space beyond what the parser process has when it starts; OCR needs more than one GiB of it."""
    open_files: int = Field(default=64, ge=16)
    scratch_bytes: int = Field(default=512 * MEBIBYTE, gt=0)
    """The largest file that the parser may write, its result among them."""
    expanded_bytes: int = Field(default=512 * MEBIBYTE, gt=0)
    """All members of an archive (OOXML, OpenDocument, EPUB) together, unpacked."""
    archive_members: int = Field(default=20_000, gt=0)
    result_bytes: int = Field(default=256 * MEBIBYTE, gt=0)
    """The parsed document as JSON."""
    pages: int = Field(default=20_000, gt=0)
    frames: int = Field(default=1000, gt=0)
    """Of one picture file with several, a fax for one; those after that are left out."""
    cells: int = Field(default=4_000_000, gt=0)
    """Filled-in cells of one document that are kept in memory while it is read."""
    sheet_cells: int = Field(default=20_000_000, gt=0)
    """Cells of one workbook or delimited text, whose large tables are read row by row."""
    kept_table_cells: int = Field(default=200_000, gt=0)
    kept_table_characters: int = Field(default=8_000_000, gt=0)
    """How much of one such table is kept as text, to be searched row by row: about half an hour's embedding."""
    kept_cells: int = Field(default=600_000, gt=0)
    """Of all such tables of a document together; beyond that, a few thousand cells of each."""
    stored_bytes: int = Field(default=512 * MEBIBYTE, gt=0)
    """All cells of large tables, on disk."""
    table_seconds: float = Field(default=60, ge=0)
    """Processor time of looking for tables in one PDF; pages after that are read without."""
    layout_seconds: float = Field(default=120, ge=0)
    """Processor time of the layout model for one PDF; pages after that are read without."""
    ocr_seconds: int = Field(default=3600, ge=0)
    """Processor time of recognising text, and the time by which a file that needs it may take longer; pages after that
    are read without."""
    picture_pixels: int = Field(default=100_000_000, gt=0)
    """Of one picture, before it is decoded."""

    def step_cpu_seconds(self, file_bytes: int) -> int:
        """Processor time without progress after which a file of this size is given up."""
        return min(self.cpu_seconds, self.step_seconds + self.step_seconds_per_mebibyte * file_bytes // MEBIBYTE)
