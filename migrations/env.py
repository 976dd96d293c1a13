"""Alembic's entry: runs as the owner of the tables, on the address of `app.core.schema` or of `alembic -x url=`."""

from alembic import context
from sqlalchemy import create_engine, pool

from app.models import Base

url = context.config.attributes.get("url") or context.get_x_argument(as_dictionary=True)["url"]
engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), poolclass=pool.NullPool)
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=Base.metadata, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
engine.dispose()
