"""The questions that the demo asks the embedded library, each by one file of ``cypher/query``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_neo4j.database import Neo4jStore
from heat_neo4j.demo.modules import WRITE_NAMES

__all__ = ["QUESTIONS", "Answer", "Question"]

_MODULE = {"label": "Module", "property": "name"}


@dataclass(frozen=True)
class Question:
    """A question in words and the query that answers it.

    Parameters
    ----------
    text : str
        What is asked.
    query : str
        Name of the file in ``cypher/query``.
    parameters : mapping
        Values of its parameters, but for the model.
    """

    text: str
    query: str
    parameters: Mapping[str, Any]

    @property
    def file(self) -> str:
        """Where the query is, in the repository."""
        return f"cypher/query/{self.query}.cypher"

    def ask(self, store: Neo4jStore) -> Answer:
        """Run the query."""
        return Answer(self, store.query(self.query, model=WRITE_NAMES.model, **self.parameters))


@dataclass(frozen=True)
class Answer:
    """A question and the rows that its query gave."""

    question: Question
    rows: Sequence[Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"question": self.question.text, "query": self.question.file, "rows": list(self.rows)}


QUESTIONS = (
    Question("Which modules are nearest to asyncio?", "nearest", {**_MODULE, "value": "asyncio", "k": 8}),
    Question(
        "Which are nearest to it outside its own package?",
        "nearest_elsewhere",
        {**_MODULE, "value": "asyncio", "group": "package", "k": 8},
    ),
    Question(
        "Which modules are the most general, that is, nearest to the centre of the space?",
        "most_general",
        {"property": "name", "minDegree": 3, "k": 8},
    ),
    Question(
        "Which imports are likeliest missing, and what do the two modules share already?",
        "missing_links",
        {"property": "name", "attributes": ["words"], "k": 8},
    ),
    Question(
        "What is pathlib likeliest to be tied to next?", "links_of", {**_MODULE, "value": "pathlib", "k": 8}
    ),
)
