"""A store with shorthands, such as to publish coordinates, links or values alone."""

from __future__ import annotations

from typing import Any

from heat_neo4j.database.publish.publication import rollback
from heat_neo4j.database.publish.published_index import create_index, drop_index, index_status
from heat_neo4j.database.publish.writer import Run, model_facts
from heat_neo4j.database.read.queries import run_cypher
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.database.write.payload import check_coordinates, check_links
from heat_neo4j.graph import Graph


class Store(Neo4jStore):
    """A store that publishes coordinates, links or values alone, in batches of `batch_size` if given."""

    run = run_cypher
    index_status = index_status
    create_index = create_index
    drop_index = drop_index
    rollback = rollback

    def start_run(self, *arguments: Any, batch_size: int = 0, **options: Any) -> Run:
        run = super().start_run(*arguments, **options)
        run.rows = batch_size or run.rows
        return run

    def write_embedding(
        self, graph: Graph, model: Any, *, coordinates: str = "poincare", **options: Any
    ) -> RunRecord:
        columns, facts = check_coordinates(model, graph.n_nodes, coordinates), model_facts(model)
        options["parameters"] = {**facts.get("parameters", {}), **(options.get("parameters") or {})}
        with self.start_run(graph, **options) as run:
            run.send_coordinates(columns, facts)
            return run.publish()

    def write_links(self, graph: Graph, links: Any, **options: Any) -> RunRecord:
        columns = check_links(links, graph.n_nodes)
        with self.start_run(graph, parts=["links"], **options) as run:
            run.send_links(columns)
            return run.publish()

    def write_values(self, graph: Graph, rows: Any, values: Any, **options: Any) -> RunRecord:
        with self.start_run(graph, parts=["values"], **options) as run:
            run.send_values(rows, values)
            return run.publish()
