"""What documents say of a thing beside its name.

It is empty until the next run finds it, since names rest on other code.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the column."""
    op.add_column("document_names", sa.Column("traits", TEXT, nullable=False, server_default="{}"))
