"""How a state store of an older version becomes one of this version: a file in `versions` a step, done by Alembic in their order."""
