"""What Alembic runs to migrate: over the connection that polyonym.ingest.store.schema gives it, inside its transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
