"""What every table shares: one metadata with named constraints, and the columns that repeat."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import DateTime, Enum, ForeignKey, MetaData, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column

from app.core.ids import new_id

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar = {datetime: DateTime(timezone=True), dict[str, Any]: JSONB, list[Any]: JSONB}


def status_column(kind: type[StrEnum], name: str) -> Enum:
    """Stores an enum's values as text with a named CHECK constraint: readable in SQL, and easy to extend."""
    return Enum(
        kind,
        name=name,
        native_enum=False,
        create_constraint=True,
        length=32,
        values_callable=lambda members: [member.value for member in members],
    )


class HasId:
    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)


class Timestamps:
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class OfTenant:
    """A row that belongs to a tenant; row-level security is forced on its table by the migration.

    Every table has an index that begins with `tenant_id`, none has one on it alone beside that: where the planner knows
    little of a table yet, it would take that for anything asked, since every query names the tenant.
    """

    @declared_attr
    @classmethod
    def tenant_id(cls) -> Mapped[UUID]:
        return mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"))
