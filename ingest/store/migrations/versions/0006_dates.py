"""Dates of documents and of evidence, the times that sentences state, and what the confidence of a relation is made of.

What is filled in here stands until the next run, which finds it anew, since it rests on other code.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns and the table."""
    for column in ("date", "date_from"):
        op.add_column("documents", sa.Column(column, TEXT, nullable=True))
    for table in ("relations", "evidence"):
        for column in ("pattern", "date"):
            op.add_column(table, sa.Column(column, TEXT, nullable=False, server_default=""))
    for column in ("source_confidence", "target_confidence"):
        op.add_column("evidence", sa.Column(column, sa.Float(), nullable=False, server_default="1"))
    op.create_table(
        "times",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("start_at", sa.Integer(), nullable=False),
        sa.Column("end_at", sa.Integer(), nullable=False),
        sa.Column("value", TEXT, nullable=False),
    )
    op.create_index(op.f("ix_times_document"), "times", ["document"], unique=False)
