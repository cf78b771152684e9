"""Plain Cypher, and tools that know nothing of versions, read the published version and nothing else."""

import numpy as np
import pytest
from neo4j_graphrag.retrievers import VectorRetriever

from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.publish.writer import Run
from heat_neo4j.pipeline.embed import refresh
from tests.support.plain_reading import plain_links, plain_nodes
from tests.support.refresh_checks import JOB
from tests.support.refresh_toy import LABEL, MODEL, N, first_version
from tests.support.slow import slow

pytestmark = pytest.mark.live

NAMES = WriteNames(MODEL)
INDEX = NAMES.index_of(LABEL)


class Written:
    """What each run was given to write, as plain Cypher must read it, by the ids of the runs."""

    def __init__(self, monkeypatch, cypher):
        self.nodes, self.links, self.rows = {}, {}, {}
        send_coordinates, send_links = Run.send_coordinates, Run.send_links
        keys = {}

        def key_of(identity):
            if identity not in keys:
                rows = cypher(f"MATCH (n:{LABEL}) RETURN elementId(n) AS id, n.key AS key")
                keys.update({row["id"]: row["key"] for row in rows})
            return keys[identity]

        def note_coordinates(run, coordinates, facts, changed=None):
            send_coordinates(run, coordinates, facts, changed)
            # A local refresh leaves nodes in the space of the training that it is of.
            space = run.record.run_id if changed is None else run._version["space"]
            ids = run._graph.node_ids
            lists = zip(ids, coordinates.values.tolist(), coordinates.radii.tolist(), strict=True)
            self.nodes[run.record.run_id] = {key_of(i): (value, radius, space) for i, value, radius in lists}
            self.rows[run.record.run_id] = {
                key_of(i) for row, i in enumerate(ids) if changed is None or changed[row]
            }

        def note_links(run, links):
            send_links(run, links)
            ids = run._graph.node_ids
            known = [None] * len(links.source) if links.probability is None else links.probability.tolist()
            columns = (links.source, links.target, links.rank.tolist(), links.distance.tolist(), known)
            self.links[run.record.run_id] = sorted(
                (
                    (key_of(ids[a]), key_of(ids[b]), rank, distance, probability, run.record.run_id)
                    for a, b, rank, distance, probability in zip(*columns, strict=True)
                ),
                key=lambda link: link[2],
            )

        monkeypatch.setattr(Run, "send_coordinates", note_coordinates)
        monkeypatch.setattr(Run, "send_links", note_links)


def test_plain_cypher_reads_the_published_version_to_the_bit(store, cypher, papers, monkeypatch):
    written = Written(monkeypatch, cypher)

    def expect(run):
        assert papers.published()["run"] == run
        assert plain_nodes(cypher, NAMES) == written.nodes[run]
        assert plain_links(cypher, NAMES) == written.links[run]
        assert all(value is None for value in papers.lists(NAMES.staged.run).values())

    def refreshed(decision, mode="auto"):
        report = refresh(store, JOB, mode=mode)
        assert report.decision == decision
        expect(report.report.run.run_id)
        return report.report.run.run_id

    first = first_version(store, JOB).run_id
    expect(first)
    added = papers.add()
    placed = refreshed("local")
    assert written.rows[placed] == {added}  # nobody else was written to
    papers.delete(50)
    cypher(f"MATCH (n:{LABEL} {{key: 60}}) REMOVE n:{LABEL}")  # leaves the projection, and stays in the graph
    local = refreshed("local", "local")
    assert written.nodes[local].keys() == {*range(N), added} - {50, 60}
    again = refreshed("full", "full")
    assert len({first, placed, local, again}) == 4
    store.rollback(MODEL)
    expect(local)
    store.rollback(MODEL)
    expect(again)
    cypher(f"MATCH (n {{key: 60, words: ['w0', 'v4']}}) SET n:{LABEL}")


def test_a_rollback_of_a_placement_takes_new_nodes_out_again(store, cypher, papers, monkeypatch):
    written = Written(monkeypatch, cypher)
    first = first_version(store, JOB).run_id
    before = (plain_nodes(cypher, NAMES), plain_links(cypher, NAMES))
    key = papers.add()
    placed = refresh(store, JOB).report.run.run_id
    assert plain_nodes(cypher, NAMES).keys() == before[0].keys() | {key}
    store.rollback(MODEL)
    assert papers.published()["run"] == first
    assert (plain_nodes(cypher, NAMES), plain_links(cypher, NAMES)) == before
    store.rollback(MODEL)
    assert plain_nodes(cypher, NAMES) == written.nodes[placed]
    assert plain_links(cypher, NAMES) == written.links[placed]


@pytest.mark.vector_index
@pytest.mark.filterwarnings(
    "ignore:The default returned 'id' field:DeprecationWarning"
)  # the retriever's own
@pytest.mark.slow
@pytest.mark.parametrize("times", [6, slow(10)])
def test_a_retriever_with_a_constant_index_name_goes_on_over_refreshes(store, cypher, papers, times):
    """Before every statement of a refresh it is answered, and after each by the new version."""
    first_version(store, JOB)
    retriever = VectorRetriever(cypher.driver, INDEX, return_properties=["key"])
    asked = []

    def ask(point, k=5):
        found = retriever.get_search_results(query_vector=point, top_k=k)
        return [(record["node"]["key"], record["score"]) for record in found.records]

    def look(statement, parameters):
        if "SHOW TRANSACTIONS" not in statement:
            asked.append(len(ask([0.1, 0.2, 0.3])))

    for turn in range(times):
        if turn % 5 == 4:
            papers.rewire()
        else:
            papers.add(group=turn % 4)
        store.tracer = look if turn in (0, 4) else None
        try:
            report = refresh(store, JOB, mode="full" if turn == times - 1 else "auto")
        finally:
            store.tracer = None
        assert report.outcome == "published"
        points = {key: np.array(values[0]) for key, values in plain_nodes(cypher, NAMES).items()}
        for key in (3, max(points)):
            apart = {other: float(((points[key] - point) ** 2).sum()) for other, point in points.items()}
            nearest = sorted(apart.values())[:5]
            found = ask(points[key].tolist())
            assert [score for _, score in found] == pytest.approx([1 / (1 + d) for d in nearest], rel=1e-5)
            assert [apart[other] for other, _ in found] == pytest.approx(nearest, abs=1e-6)
    assert set(asked) == {5}
    assert len(asked) > 50
