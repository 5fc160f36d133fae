"""The schema with which migrations began. Later migrations change it; this one is never edited."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "acknowledged",
        sa.Column("projection", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("projection", "kind", "owner", "id"),
    )
    op.create_table(
        "aliases",
        sa.Column("entity_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("entity_id", "name"),
    )
    op.create_table(
        "chunks",
        sa.Column("chunk", TEXT, nullable=False),
        sa.Column("document", TEXT, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start_at", sa.Integer(), nullable=False),
        sa.Column("end_at", sa.Integer(), nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("chunk"),
    )
    op.create_index(op.f("ix_chunks_document"), "chunks", ["document"], unique=False)
    op.create_table(
        "communities",
        sa.Column("community_id", TEXT, nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("parent", TEXT, nullable=True),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("community_id"),
    )
    op.create_index(op.f("ix_communities_parent"), "communities", ["parent"], unique=False)
    op.create_table(
        "community_members",
        sa.Column("community_id", TEXT, nullable=False),
        sa.Column("entity_id", TEXT, nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("community_id", "entity_id"),
    )
    op.create_index(op.f("ix_community_members_entity_id"), "community_members", ["entity_id"], unique=False)
    op.create_table(
        "decisions",
        sa.Column("scope", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("names", TEXT, nullable=False),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("candidates", TEXT, nullable=False),
        sa.Column("features", TEXT, nullable=False),
        sa.Column("weights_version", TEXT, nullable=False),
        sa.Column("spans", TEXT, nullable=False),
    )
    op.create_index(op.f("ix_decisions_scope"), "decisions", ["scope"], unique=False)
    op.create_table(
        "document_names",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("group", TEXT, nullable=False),
        sa.Column("surfaces", TEXT, nullable=False),
        sa.Column("labels", TEXT, nullable=False),
        sa.Column("rule", TEXT, nullable=False),
        sa.Column("evidence", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("document", "name"),
    )
    op.create_table(
        "documents",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("language", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("metadata", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("document"),
    )
    op.create_index("documents_by_file", "documents", ["source", "file"], unique=False)
    op.create_table(
        "editions",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("edition", sa.BigInteger(), nullable=False),
        sa.Column("known_from", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "entities",
        sa.Column("entity_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("wikidata_id", TEXT, nullable=True),
        sa.Column("registry_id", TEXT, nullable=True),
        sa.Column("description", TEXT, nullable=True),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("entity_id"),
    )
    op.create_index(op.f("ix_entities_registry_id"), "entities", ["registry_id"], unique=False)
    op.create_index(op.f("ix_entities_wikidata_id"), "entities", ["wikidata_id"], unique=False)
    op.create_table(
        "evidence",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("predicate", TEXT, nullable=False),
        sa.Column("start_at", sa.Integer(), nullable=False),
        sa.Column("end_at", sa.Integer(), nullable=False),
    )
    op.create_index(op.f("ix_evidence_document"), "evidence", ["document"], unique=False)
    op.create_index(op.f("ix_evidence_source"), "evidence", ["source"], unique=False)
    op.create_index(op.f("ix_evidence_target"), "evidence", ["target"], unique=False)
    op.create_table(
        "facts", sa.Column("key", TEXT, nullable=False), sa.Column("value", TEXT, nullable=False), sa.PrimaryKeyConstraint("key")
    )
    op.create_table(
        "files",
        sa.Column("source", TEXT, nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("reader", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("source", "file"),
    )
    op.create_table(
        "judgements",
        sa.Column("judgement", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("others", TEXT, nullable=False),
        sa.Column("value", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("made", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("judgement"),
    )
    op.create_table(
        "links",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("candidate", TEXT, nullable=True),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("wikidata_id", TEXT, nullable=True),
        sa.Column("registry_id", TEXT, nullable=True),
        sa.Column("verdict", TEXT, nullable=False),
        sa.Column("candidates", TEXT, nullable=False),
        sa.Column("weights_version", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("document", "name"),
    )
    op.create_index(op.f("ix_links_registry_id"), "links", ["registry_id"], unique=False)
    op.create_index(op.f("ix_links_wikidata_id"), "links", ["wikidata_id"], unique=False)
    op.create_table(
        "memberships",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("entity_id", TEXT, nullable=False),
        sa.Column("mentions", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("document", "name"),
    )
    op.create_index(op.f("ix_memberships_entity_id"), "memberships", ["entity_id"], unique=False)
    op.create_index(op.f("ix_memberships_name"), "memberships", ["name"], unique=False)
    op.create_table(
        "mention_names",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("document", "start", "end"),
    )
    op.create_table(
        "mentions",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("start_at", sa.Integer(), nullable=False),
        sa.Column("end_at", sa.Integer(), nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("label", TEXT, nullable=False),
        sa.Column("sentence_start", sa.Integer(), nullable=False),
        sa.Column("sentence_end", sa.Integer(), nullable=False),
        sa.Column("detectors", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("document", "start_at", "end_at"),
    )
    op.create_table(
        "model_output_uses",
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("owner", "content"),
    )
    op.create_index(op.f("ix_model_output_uses_content"), "model_output_uses", ["content"], unique=False)
    op.create_table(
        "model_outputs",
        sa.Column("content", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("content", "model"),
    )
    op.create_table(
        "pending_names",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "projection_versions",
        sa.Column("projection", TEXT, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("upcoming", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("projection"),
    )
    op.create_table(
        "redirects",
        sa.Column("old_id", TEXT, nullable=False),
        sa.Column("new_id", TEXT, nullable=False),
        sa.Column("why", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("direct", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("old_id", "new_id", "why"),
    )
    op.create_table(
        "registry_items",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("label", TEXT, nullable=False),
        sa.Column("aliases", TEXT, nullable=False),
        sa.Column("types", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=True),
        sa.Column("wikidata_id", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "rejected",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("document"),
    )
    op.create_index("rejected_by_file", "rejected", ["source", "file"], unique=False)
    op.create_table(
        "relations",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("source_start", sa.Integer(), nullable=False),
        sa.Column("source_end", sa.Integer(), nullable=False),
        sa.Column("target_start", sa.Integer(), nullable=False),
        sa.Column("target_end", sa.Integer(), nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("predicate", TEXT, nullable=False),
        sa.Column("start_at", sa.Integer(), nullable=False),
        sa.Column("end_at", sa.Integer(), nullable=False),
    )
    op.create_index(op.f("ix_relations_document"), "relations", ["document"], unique=False)
    op.create_table(
        "run_changes",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("other", TEXT, nullable=False),
    )
    op.create_index(op.f("ix_run_changes_run"), "run_changes", ["run"], unique=False)
    op.create_table(
        "runs",
        sa.Column("run", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("started", TEXT, nullable=False),
        sa.Column("ended", TEXT, nullable=True),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("figures", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("run"),
    )
    op.create_table(
        "sources",
        sa.Column("root", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("patterns", TEXT, nullable=False),
        sa.Column("keep_gone", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("root"),
    )
    op.create_table(
        "stages",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("stage", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("document", "stage"),
    )
    op.create_table(
        "summaries",
        sa.Column("community_id", TEXT, nullable=False),
        sa.Column("sentences", TEXT, nullable=False),
        sa.Column("writer", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("community_id"),
    )
    op.create_table(
        "touched",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("edition", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", "owner"),
    )
    op.create_table(
        "unit_keys",
        sa.Column("document", TEXT, nullable=False),
        sa.Column("head", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
    )
    op.create_index("unit_keys_by_document", "unit_keys", ["document"], unique=False)
    op.create_index("unit_keys_by_key", "unit_keys", ["key"], unique=False)
    op.create_table(
        "wikidata_items",
        sa.Column("qid", TEXT, nullable=False),
        sa.Column("languages", TEXT, nullable=False),
        sa.Column("facts", TEXT, nullable=True),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("fetched", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("qid"),
    )
    op.create_table(
        "wikidata_redirects",
        sa.Column("source", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("source"),
    )
    op.create_table(
        "wikidata_searches",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("question", TEXT, nullable=False),
        sa.Column("hits", TEXT, nullable=False),
        sa.Column("fetched", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
