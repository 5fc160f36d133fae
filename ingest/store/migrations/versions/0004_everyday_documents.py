"""Names as they are shown and titles before them, whether a link's name is one of the item's, and what was guessed of tables.

What is filled in here is good enough to be looked at: the next run finds all of it again, since it rests on other code.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns and the table."""
    op.create_table(
        "table_layouts",
        sa.Column("source", TEXT, nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("layouts", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("source", "file"),
    )
    op.add_column("links", sa.Column("named", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("mentions", sa.Column("name", TEXT, nullable=False, server_default=""))
    op.add_column("mentions", sa.Column("title", TEXT, nullable=False, server_default=""))
    op.execute("UPDATE mentions SET name = text")
