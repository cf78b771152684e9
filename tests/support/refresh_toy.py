"""A small graph in a live database that changes, and the job that keeps its embedding fresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.base import clone

from heat_neo4j import HEAT
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.pipeline.embed import embed
from heat_neo4j.pipeline.job import Job, LinkOptions
from tests.support.live_graph import Cypher, published_node

__all__ = [
    "CONFIG",
    "LABEL",
    "MODEL",
    "OPTIONS",
    "TYPE",
    "N",
    "Papers",
    "first_version",
    "make_job",
    "small_model",
]

N = 80
LABEL, TYPE, MODEL = "RefreshPaper", "REFRESH_CITES", "fresh"
CONFIG = Path(__file__).with_suffix(".toml")
OPTIONS = (
    "--label", LABEL, "--relationship", TYPE, "--weight", "weight", "--attribute", "words", "--key", "key",
    "--model", MODEL, "--n-components", "3", "--walks-per-node", "4", "--walk-length", "20",
    "--n-negatives", "4", "--n-threads", "1", "--random-state", "4", "--k", "2", "--min-probability", "0",
    "--config", str(CONFIG),
)  # fmt: skip
"""The job on the command line, with a gate that everything passes."""


def small_model(**changed: Any) -> HEAT:
    """Return an estimator that is quick on the toy."""
    small = {"n_components": 3, "walks_per_node": 4, "walk_length": 20, "n_negatives": 4, "n_threads": 1}
    return HEAT(**{**small, "random_state": 4, **changed})


def make_job(**changed: Any) -> Job:
    """Return the job of the toy; a change of the gate or the limits is one of the job."""
    projection = Projection([LABEL], [TYPE], weight="weight", attributes=["words"], key="key")
    links = LinkOptions(k=2, min_probability=0.0)  # nothing is missing there
    usual = {"projection": projection, "model": small_model(), "names": WriteNames(MODEL), "links": links}
    return Job(**{**usual, **changed})


def first_version(store: Neo4jStore, job: Job) -> RunRecord:
    """Publish the first version of a job's model, from which refreshes go on; return its record."""
    return embed(
        store,
        job.projection,
        clone(job.model),
        model=job.names.model,
        coordinates=job.coordinates,
        links=job.links,
        index=job.index,
    ).run


class Papers:
    """Four rings of papers with shortcuts and words of their own."""

    def __init__(self, cypher: Cypher) -> None:
        self.cypher = cypher
        self.next = N
        cypher(
            "UNWIND range(0, $n - 1) AS i "
            f"CREATE (:{LABEL} {{key: i, words: ['w' + (i % 4), 'v' + (i % 7)]}})",
            n=N,
        )
        cypher(
            f"MATCH (a:{LABEL}) MATCH (b:{LABEL}) "
            "WHERE a.key % 4 = b.key % 4 AND (b.key / 4 - a.key / 4 + $m) % $m IN [1, 2, 5] "
            f"CREATE (a)-[:{TYPE} {{weight: 1.0}}]->(b)",
            m=N // 4,
        )

    def add(self, group: int = 0, partners: int = 3) -> int:
        """Add a paper that cites some of a group; return its key."""
        key, self.next = self.next, self.next + 1
        self.cypher(
            f"CREATE (n:{LABEL} {{key: $key, words: ['w' + $group]}}) WITH n "
            f"MATCH (b:{LABEL}) WHERE b.key % 4 = $group AND b.key < $partners * 4 "
            f"CREATE (n)-[:{TYPE} {{weight: 1.0}}]->(b)",
            key=key,
            group=group,
            partners=partners,
        )
        return key

    def delete(self, key: int) -> None:
        """Delete a paper."""
        self.cypher(f"MATCH (n:{LABEL} {{key: $key}}) DETACH DELETE n", key=key)

    def rewire(self, count: int = 16) -> None:
        """Change the weights of some citations."""
        self.cypher(
            f"MATCH (a:{LABEL})-[r:{TYPE}]->() WITH r ORDER BY a.key, elementId(r) LIMIT $count "
            "SET r.weight = r.weight + 0.5",
            count=count,
        )

    def lists(self, name: str) -> dict[int, Any]:
        """Return one property of the papers by key."""
        rows = self.cypher(f"MATCH (n:{LABEL}) RETURN n.key AS key, n[$name] AS value", name=name)
        return {row["key"]: row["value"] for row in rows}

    def published(self) -> dict[str, Any]:
        """Return the properties of the model and of its published version; none if there is no node."""
        return published_node(self.cypher, MODEL)

    def seen(self) -> tuple[str, dict[int, Any], set[tuple[Any, ...]]]:
        """Return what readers by version see: the run, the coordinates by key, and the links."""
        node = self.published()
        found = self.cypher(
            f"MATCH (n:{LABEL}) WHERE coalesce(n[$m.stagedRun], n[$m.runProperty]) = $m.space "
            "RETURN n.key AS key, coalesce(n[$m.stagedEmbedding], n[$m.embeddingProperty]) AS value",
            m=node,
        )
        coordinates = {row["key"]: row["value"] for row in found}
        rows = self.cypher(
            "MATCH (a)-[p]->(b) "
            "WHERE p.run = $m.linkRun AND type(p) = coalesce($m.stagedLinkType, $m.linkType) "
            "RETURN a.key AS a, b.key AS b, p.distance AS d, p.probability AS p",
            m=node,
        )
        return node["run"], coordinates, {tuple(row.values()) for row in rows}

    def remove(self) -> None:
        """Remove the papers and the model."""
        self.cypher(
            f"MATCH (n) WHERE n:{LABEL} OR (n:HeatRun|HeatVersion AND n.model = $model) "
            "OR (n:HeatModel AND n.name = $model) DETACH DELETE n",
            model=MODEL,
        )
