from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from sqlalchemy import event

from app.ports.parts import Parts

Statements = Callable[[], AbstractContextManager[list[str]]]


@pytest.fixture
def statements(parts: Parts) -> Statements:
    """Collects the SQL that is executed while its block runs."""
    engine = parts.database.engine.sync_engine

    @contextmanager
    def collect() -> Iterator[list[str]]:
        found: list[str] = []

        def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
            found.append(statement)

        event.listen(engine, "before_cursor_execute", note)
        try:
            yield found
        finally:
            event.remove(engine, "before_cursor_execute", note)

    return collect
