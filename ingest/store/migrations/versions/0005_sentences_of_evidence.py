"""In which words a relation was read, so that a sentence that several documents hold counts once.

What is filled in here lets each place count by itself, as before: the next run finds the words, since it rests on other code.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns."""
    for table in ("relations", "evidence"):
        op.add_column(table, sa.Column("sentence", TEXT, nullable=False, server_default=""))
        op.execute(f"UPDATE {table} SET sentence = document || ' ' || start_at")
