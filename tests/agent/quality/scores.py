"""What answers are worth, by languages."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.agent.quality.asking import Asked, Quote
from tests.agent.quality.cases import Case


@dataclass(frozen=True, slots=True)
class Scores:
    answerable: int
    answered: float
    """Share of the answerable questions with a quote that holds the answer."""
    answered_wrong: float
    """Share of them with quotes of which none holds it; the rest was declined."""
    precision: float
    """Share of quotes that hold the answer, among those of answerable questions."""
    unanswerable: int
    declined: float


def is_right(case: Case, quote: Quote) -> bool:
    return quote.document in case.among and _plain(case.holds) in _plain(quote.text)


def scores(asked: Iterable[Asked]) -> Scores:
    good = [one for one in asked if one.case.answerable]
    bad = [one for one in asked if not one.case.answerable]
    right = [[is_right(one.case, quote) for quote in one.quotes] for one in good]
    return Scores(
        len(good),
        _share([any(quotes) for quotes in right]),
        _share([bool(quotes) and not any(quotes) for quotes in right]),
        _share([held for quotes in right for held in quotes]),
        len(bad),
        _share([not one.quotes for one in bad]),
    )


def table(asked: Sequence[tuple[str, Asked]]) -> str:
    """A line for each knowledge base and pair of languages, and for each pair of all of them."""
    groups: defaultdict[tuple[str, str], list[Asked]] = defaultdict(list)
    for base, one in asked:
        groups[base, one.case.pair].append(one)
        groups["all", one.case.pair].append(one)
        groups["all", "all"].append(one)
    lines = [
        f"{'documents':<14}{'pair':<8}{'asked':>6}{'right':>8}{'wrong':>8}{'quotes':>8}{'none':>6}{'declined':>10}"
    ]
    for (base, pair), members in groups.items():
        found = scores(members)
        lines.append(
            f"{base:<14}{pair:<8}{found.answerable:>6}{found.answered:>8.2f}{found.answered_wrong:>8.2f}"
            f"{found.precision:>8.2f}{found.unanswerable:>6}{found.declined:>10.2f}"
        )
    return "\n".join(lines)


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split()).lower()
