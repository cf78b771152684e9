"""``heat explore`` on a live server: what the page holds is what was published."""

import base64
import json

import numpy as np
import pytest
from click.testing import CliRunner

from heat_neo4j import Projection
from heat_neo4j.cli import heat
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.errors import ProjectionError
from heat_neo4j.explore.published import read_page_data
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.pipeline.cluster_questions import clusters
from tests.explore.conftest import LABEL, MODEL, N
from tests.explore.test_page_data import part_of

pytestmark = pytest.mark.live


def test_published_links_are_read_back(store, cypher, publish):
    _, links = publish(2)
    graph = store.read_graph(Projection(labels=[LABEL], relationships=["REFRESH_CITES"], key="key"))
    found = store.read_links(graph, MODEL)
    order = np.lexsort((links.target, links.source, links.distance))
    for name in ("source", "target", "distance", "probability"):
        assert np.array_equal(getattr(found, name), getattr(links, name)[order]), name
    part = store.read_graph(
        Projection(labels=[LABEL], relationships=["REFRESH_CITES"], key="key", node_filter="n.key < 12")
    )
    kept = order[links.target[order] < 12]
    assert np.array_equal(store.read_links(part, MODEL).target, links.target[kept])
    assert store.read_links(graph, "no such model") is None
    with pytest.raises(ValueError, match="no node_ids"):
        store.read_links(type(graph)(graph.adjacency), MODEL)
    cypher(f"MATCH (:`{LABEL}`)-[p:FRESH_PREDICTED]->() SET p.probability = null")
    assert store.read_links(graph, MODEL).probability is None


def test_a_plane_embedding_is_shown_as_it_was_published(store, publish):
    points, links = publish(2)
    found = read_page_data(store, MODEL, caption="title", color_by="year", show=["year", "key"])
    assert found.trained is False
    assert np.array_equal(found.flat, points)
    assert np.array_equal(found.neighbours.partner, nearest_neighbours(points, 10).partner)
    assert found.names == [f"<b>{key}" for key in range(N)]
    old = read_page_data(store, MODEL, caption={"ExploreOld": "title"})
    assert old.names[:4] == found.names[:4]
    assert old.names[4:] == [str(key) for key in range(4, N)]  # the projection's key
    assert found.facets[0].values == [str(2000 + key % 3) for key in range(N)]
    assert found.properties == {"year": [2000 + key % 3 for key in range(N)], "key": list(range(N))}
    assert len(found.links) == len(links)


def test_more_dimensions_are_embedded_anew_for_the_picture_only(store, publish):
    points, _ = publish(4)
    found = read_page_data(store, MODEL, n_threads=1)
    assert found.trained is True
    assert found.flat.shape == (N, 3)
    check_points(found.flat)
    assert np.array_equal(found.neighbours.partner, nearest_neighbours(points, 10).partner)
    assert found.names == [str(key) for key in range(N)]  # the projection's key
    assert found.facets[0].values == [f"ExploreOld:{LABEL}" if key < 4 else LABEL for key in range(N)]
    assert "in 4 dimensions" in found.note
    assert "trained for this page" in found.page()


def test_the_command_writes_the_page_and_says_so(server, publish, tmp_path):
    publish(4)
    target = tmp_path / "page.html"
    arguments = [
        "explore",
        "--model",
        MODEL,
        "--caption",
        "title",
        "--output",
        str(target),
        "--n-threads",
        "1",
    ]
    result = CliRunner().invoke(heat, arguments, prog_name="heat", env=server.environment)
    assert result.exit_code == 0, result.output
    assert f"{target} (" in result.stdout
    assert f"30 nodes, 30 edges, 30 predicted links of model '{MODEL}'" in result.stdout
    assert "its graph was embedded in 2 for the picture" in result.stdout
    html = target.read_text(encoding="utf-8")
    assert part_of(html, "names")[5] == "<b>5"
    assert len(base64.b64decode(part_of(html, "nodes")["points"]["base64"])) == 16 * N
    (run,) = part_of(html, "runs")
    assert (run["status"], run["nodes"], run["links"]) == ("published", N, 30)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    result = CliRunner().invoke(heat, [*arguments, "--json"], prog_name="heat", env=server.environment)
    document = json.loads(result.stdout)
    assert (document["nodes"], document["links"], document["trained_for_the_page"]) == (30, 30, True)


def test_clusters_colour_the_nodes_by_their_names(store, publish):
    publish(2)
    found = read_page_data(store, MODEL, caption="title", clusters=True, n_threads=1)
    assert [facet.name for facet in found.facets] == ["clusters 1", "labels", "clusters 2"]
    assert found.properties["clusters 1"] == found.facets[0].values
    assert {value.split(" <b>")[0] for value in found.facets[0].values} == {"1", "2"}
    assert found.keys == [str(key) for key in range(N)]


def test_published_clusters_and_classes_are_shown(store, cypher, publish):
    publish(2)
    clusters(store, levels=[3], write=True, model=MODEL)
    graph = store.read_graph(Projection(labels=[LABEL], relationships=["REFRESH_CITES"], key="key"))
    names = WriteNames.of_classes(MODEL, "topic")
    columns = {names.values[0]: ["a", "b"], names.values[1]: [0.7, 0.8]}
    store.write_values(graph, np.array([4, 6]), columns, names=names)
    found = read_page_data(store, MODEL, clusters=True, n_threads=1)
    first, *others = found.facets
    assert first.name == "freshCluster1"
    written = "n.freshCluster1 + ' ' + n.freshCluster1Name"
    in_graph = f"MATCH (n:`{LABEL}`) RETURN {written} AS c ORDER BY n.key"
    assert first.values == [record["c"] for record in cypher(in_graph)]
    assert [facet.name for facet in others] == [
        "labels",
        "freshClassTopic",
        "freshClassTopicProbability",
    ]
    assert others[1].values == [{4: "a", 6: "b"}.get(row) for row in range(N)]


def test_written_duplicates_are_shown(store, publish):
    publish(2)
    assert read_page_data(store, MODEL, n_threads=1).duplicates is None
    graph = store.read_graph(Projection(labels=[LABEL], relationships=["REFRESH_CITES"], key="key"))
    pairs = PredictedLinks(np.array([4]), np.array([9]), np.array([0.5]), np.array([0.9]))
    store.write_links(graph, pairs, names=WriteNames.of_duplicates(MODEL))
    found = read_page_data(store, MODEL, n_threads=1)
    assert (found.duplicates.source.tolist(), found.duplicates.target.tolist()) == ([4], [9])
    assert len(found.links) == 30
    assert part_of(found.page(), "same")["total"] == 1


def test_what_is_not_there_is_one_clear_error(store, publish):
    with pytest.raises(ProjectionError, match="'fresh' has no published coordinates"):
        read_page_data(store, MODEL)
    publish(2)
    with pytest.raises(ProjectionError, match="no node of the projection has a property 'titel'"):
        read_page_data(store, MODEL, caption="titel")


def test_relationships_that_changed_are_a_note_and_nodes_too(server, store, cypher, publish, tmp_path):
    publish(2)
    cypher(f"MATCH (a:`{LABEL}` {{key: 0}}) MATCH (b:`{LABEL}` {{key: 9}}) CREATE (a)-[:REFRESH_CITES]->(b)")
    note = "the graph has 31 edges now and had 30 when it was embedded"
    assert read_page_data(store, MODEL).note.endswith(f"; {note}")
    arguments = ["explore", "--model", MODEL, "--output", str(tmp_path / "page.html")]
    result = CliRunner().invoke(heat, arguments, prog_name="heat", env=server.environment)
    assert f"Note          {note}\n" in result.stdout
    cypher(f"CREATE (:`{LABEL}` {{key: 99}})")
    cypher(f"MATCH (n:`{LABEL}` {{key: 5}}) DETACH DELETE n")
    found = read_page_data(store, MODEL, show=["title"])
    assert "; 1 node is newer than run " in found.note
    assert "; 1 of the 30 nodes of run " in found.note
    assert found.names == [str(key) for key in range(N) if key != 5]
    assert found.properties["title"] == [f"<b>{key}" for key in range(N) if key != 5]
    assert found.links is not None
    assert max(found.links.target.max(), found.links.source.max()) < N - 1
    assert "29 nodes" in CliRunner().invoke(heat, arguments, prog_name="heat", env=server.environment).stdout


@pytest.mark.parametrize("step", ["read_stored", "read_links"])
def test_a_model_published_anew_meanwhile_is_not_mixed(store, publish, monkeypatch, step):
    publish(2)
    read = getattr(store, step)

    def slow(*given, **named):
        found = read(*given, **named)
        publish(2)
        return found

    monkeypatch.setattr(store, step, slow)
    with pytest.raises(ProjectionError, match="'fresh' was republished while it was read: read again"):
        read_page_data(store, MODEL)
