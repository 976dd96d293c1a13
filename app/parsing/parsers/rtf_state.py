"""What holds at a place of an RTF file: where text goes, and the properties that groups inherit and give back."""

from dataclasses import dataclass


@dataclass(slots=True)
class State:
    target: str = "body"
    """Where text goes: `body`, `note`, `fonts`, `styles`, `info`, `title`, `author`; empty for nowhere."""
    font: int = 0
    hidden: bool = False
    fallback_length: int = 1
    """Characters that follow a `\\u` for readers without Unicode."""
    style: int = 0
    outline: int | None = None
    list_level: int | None = None
    in_table: bool = False
    based_on: int | None = None
    """Of a style in the style sheet."""
    nested_properties: bool = False
    """Inside the definition of a row of a nested table, which says nothing of the row around it."""

    def inherited(self) -> "State":
        """A copy for a group; `copy.copy` takes ten times as long, and files have a group for every few words."""
        return State(
            self.target,
            self.font,
            self.hidden,
            self.fallback_length,
            self.style,
            self.outline,
            self.list_level,
            self.in_table,
            self.based_on,
            self.nested_properties,
        )

    def apply(self, name: str, number: int | None) -> bool:
        """Whether the control word was a property; then it holds from here."""
        value = number or 0
        match name:
            case "f":
                self.font = value
            case "v" | "deleted":
                self.hidden = number != 0
            case "uc":
                self.fallback_length = min(max(value, 0), 100)
            case "s" | "cs" | "ds" | "ts" | "sbasedon":
                self._set_style(name, value)
            case "pard":
                self.style, self.outline, self.list_level, self.in_table = 0, None, None, False
            case "outlinelevel":
                self.outline = value
            case "intbl":
                self.in_table = True
            case "ilvl":
                self.list_level = value
            case "ls" if value:
                self.list_level = self.list_level or 0
            case _:
                return False
        return True

    def _set_style(self, name: str, value: int) -> None:
        """Of a paragraph; the style sheet also defines styles of characters, sections and tables."""
        if name == "s":
            self.style = value
        elif name == "sbasedon":
            self.based_on = value
        elif self.target == "styles":
            self.style = -1
