"""Pictures of models published on live servers: what is read is what was written, and refusals."""

import json
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heat_neo4j import HEAT, Projection, plots
from heat_neo4j.errors import ProjectionError
from heat_neo4j.pipeline import published_model
from heat_neo4j.pipeline.embed import embed
from heat_neo4j.pipeline.job import LinkOptions
from tests.support.commands import invoker
from tests.support.live_graph import open_cypher, open_store, snapshot

pytestmark = pytest.mark.live

PAPERS = Projection(labels=["PlotPaper"], relationships=["PLOT_CITES"])
OWN = Projection(labels=["RefreshPaper"], relationships=["REFRESH_CITES"])
SMALL = {"walks_per_node": 3, "walk_length": 10, "random_state": 3, "n_threads": 1}
LINKS = LinkOptions(k=3, min_probability=0.0)


@contextmanager
def papers_of(server, projection, model):
    """Give a function for Cypher, and papers as `projection` names them; remove what `model` published."""
    label, kind = projection.labels[0], projection.relationships[0]
    with open_cypher(server) as run:
        run(
            "UNWIND range(0, 59) AS i "
            f"CREATE (n:{label} {{key: i, name: 'paper ' + i, field: ['physics', 'biology'][i / 30]}}) "
            "FOREACH (_ IN CASE i % 3 WHEN 0 THEN [1] ELSE [] END | SET n:PlotOld)"
        )
        run(
            f"MATCH (a:{label}) MATCH (b:{label}) "
            "WHERE a.key < b.key AND a.key / 30 = b.key / 30 AND (a.key * b.key + a.key) % 5 = 1 "
            f"CREATE (a)-[:{kind}]->(b)"
        )
        yield run
        run(
            f"MATCH (n) WHERE n:{label} OR (n:HeatRun|HeatVersion AND n.model = $m) "
            "OR (n:HeatModel AND n.name = $m) DETACH DELETE n",
            m=model,
        )


@pytest.fixture(scope="module")
def published(server):
    """Publish a model of three dimensions, with links, for tests that leave it and its graph as they are."""
    with papers_of(server, PAPERS, "plot"), open_store(server, index=False) as store:
        yield embed(store, PAPERS, HEAT(3, **SMALL), model="plot", links=LINKS).run


@pytest.fixture
def own(server):
    """A function for Cypher, and papers of this test's own."""
    with papers_of(server, OWN, "fresh") as run:
        yield run


@pytest.fixture
def invoke(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = invoker(server)
    return lambda *arguments, model="plot", code=0: run("plot", *arguments, "--model", model, code=code)


@pytest.fixture
def drawn(monkeypatch):
    """The axes that were saved, by file name."""
    seen = {}
    save = plots.save_picture

    def remember(axes, path):
        seen[Path(path).name] = axes
        save(axes, path)

    monkeypatch.setattr(plots, "save_picture", remember)
    return seen


def test_what_is_read_is_what_was_published(store, published):
    model = published_model.read_published(store, "plot")
    assert model.run.run_id == published.run_id
    assert model.notes == ()
    assert model.embedding.shape == (60, 4)
    np.testing.assert_array_equal(model.embedding, store.read_embedding(model.graph, "plot"))
    groups = published_model.label_groups(model.graph)
    keys = store.read_property(model.graph, "key")
    assert groups == ["PlotOld:PlotPaper" if key % 3 == 0 else "PlotPaper" for key in keys]


def test_predicted_links_are_those_in_the_graph_nearest_first(store, cypher, published):
    model = published_model.read_published(store, "plot")
    rows = cypher(
        "MATCH (a)-[p:PLOT_PREDICTED]->(b) RETURN a.key AS a, b.key AS b, p.rank AS rank ORDER BY p.rank"
    )
    everything = published_model.read_predicted(store, model, 10_000)
    expected = [{row["a"], row["b"]} for row in rows]
    assert len(rows) > 20
    keys = store.read_property(model.graph, "key")
    assert [{keys[u], keys[v]} for u, v in everything.tolist()] == expected
    few = published_model.read_predicted(store, model, 7)
    np.testing.assert_array_equal(few, everything[:7])


def test_predicted_links_of_earlier_runs_are_left_out(store, cypher, published):
    model = published_model.read_published(store, "plot")
    before = len(published_model.read_predicted(store, model, 10_000))
    cypher(
        "MATCH (a:PlotPaper {key: 0}) MATCH (b:PlotPaper {key: 59}) "
        "CREATE (a)-[:PLOT_PREDICTED {run: 'another', rank: 1}]->(b)"
    )
    assert len(published_model.read_predicted(store, model, 10_000)) == before
    cypher("MATCH ()-[p:PLOT_PREDICTED {run: 'another'}]->() DELETE p")


def test_an_embedding_of_the_plane_is_drawn_as_it_is(store, own):
    embed(store, OWN, HEAT(2, **SMALL), model="fresh", links=None)
    model = published_model.read_published(store, "fresh")
    assert published_model.embed_in_plane(model) is model.embedding
    with pytest.raises(ProjectionError, match="model 'fresh' has no predicted links: run `heat links`"):
        published_model.read_predicted(store, model, 5)


def test_one_of_more_dimensions_is_embedded_anew_with_the_runs_parameters(store, published):
    model = published_model.read_published(store, "plot")
    flat = published_model.embed_in_plane(model, n_threads=1)
    np.testing.assert_array_equal(flat, HEAT(2, **SMALL).fit(store.read_graph(PAPERS)).embedding_)


def test_every_picture_is_drawn_and_nothing_is_written(invoke, cypher, published, tmp_path, drawn):
    before = snapshot(cypher)
    for picture in ("disk", "reliability", "degree"):
        shown = invoke(picture).stdout
        assert f"Picture       {tmp_path / f'heat-{picture}.png'}\n" in shown
        assert f"Run           {published.run_id} of model 'plot'\n" in shown
        with Image.open(tmp_path / f"heat-{picture}.png") as image:
            assert min(image.size) > 700
            assert len(image.convert("RGB").getcolors(1 << 24)) > 50
        assert (tmp_path / f"heat-{picture}.png").stat().st_size < 250_000
    assert snapshot(cypher) == before
    assert drawn["heat-degree.png"].collections[0].get_offsets().shape[0] > 50


def test_names_colours_links_and_title_of_the_disk(invoke, published, drawn):
    result = invoke(
        *("disk", "--caption", "name", "--color-by", "field", "--links", "5", "--title", "My papers"),
        *("--output", "my.svg", "--json"),
    )
    document = json.loads(result.stdout)
    assert document == {
        "picture": "my.svg",
        "model": "plot",
        "run": published.run_id,
        "notes": [
            "the picture shows an embedding in 2 dimensions, trained for the picture; the published one has 3"
        ],
    }
    axes = drawn["my.svg"]
    assert axes.get_title(loc="left") == "My papers"
    entries = [text.get_text() for text in axes.get_legend().get_texts()]
    assert entries == ["biology", "physics", "predicted links"]
    texts = [text.get_text() for text in axes.texts]
    assert sum(bool(re.fullmatch(r"paper \d+", text)) for text in texts) > 10
    assert any("This is an embedding in 2 dimensions" in text for text in texts)
    *lines, _ = axes.collections
    assert [len(each.get_segments()) for each in lines][-1] == 5


def test_labels_decide_about_colours_unless_told_otherwise(invoke, published, drawn):
    invoke("disk", "--title", "")
    axes = drawn["heat-disk.png"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["PlotPaper", "PlotOld:PlotPaper"]
    assert axes.get_title(loc="left") == ""


def test_relationships_that_changed_are_a_note(invoke, cypher, published):
    cypher("MATCH (a:PlotPaper {key: 0}) MATCH (b:PlotPaper {key: 59}) CREATE (a)-[:PLOT_CITES]->(b)")
    then, now = published.edge_count, published.edge_count + 1
    note = f"Note          the graph has {now} edges now and had {then} when it was embedded\n"
    assert note in invoke("degree").stdout
    cypher("MATCH (:PlotPaper {key: 0})-[r:PLOT_CITES]->(:PlotPaper {key: 59}) DELETE r")


def test_a_run_is_shown_as_it_is_now(invoke, store, own):
    published = embed(store, OWN, HEAT(3, **SMALL), model="fresh", links=LINKS).run
    before = published_model.read_published(store, "fresh")
    own("CREATE (:RefreshPaper {key: 60})")
    own("MATCH (n:RefreshPaper {key: 5}) DETACH DELETE n")
    now = published_model.read_published(store, "fresh")
    kept = np.flatnonzero(np.isin(before.graph.node_ids, now.graph.node_ids))
    assert len(kept) == now.graph.n_nodes == 59
    np.testing.assert_array_equal(now.embedding, before.embedding[kept])
    assert (now.graph.adjacency != before.graph.adjacency[kept][:, kept]).nnz == 0
    assert now.notes[:2] == (
        f"1 node is newer than run {published.run_id} and left out",
        f"1 of the 60 nodes of run {published.run_id} is no longer in the graph",
    )
    for picture in ("disk", "reliability", "degree"):
        assert "1 node is newer than run" in invoke(picture, model="fresh").stdout
    assert len(published_model.read_predicted(store, now, 10_000)) > 20
    own("CREATE (:RefreshPaper {key: 61})-[:REFRESH_CITES]->(:RefreshPaper {key: 62})")
    own("MATCH (n:RefreshPaper) WHERE n.key < 60 DETACH DELETE n")
    line = invoke("degree", model="fresh", code=4).stderr.splitlines()[-1]
    assert (
        line
        == f"heat: no node of run {published.run_id} is left in the graph: `heat refresh` trains the new one"
    )


def test_attributes_are_encoded_as_those_of_the_run(store, own):
    projection = Projection(labels=["RefreshPaper"], relationships=["REFRESH_CITES"], attributes=["field"])
    embed(store, projection, HEAT(2, **SMALL), model="fresh", links=None)
    before = published_model.read_published(store, "fresh")
    own("MATCH (n:RefreshPaper {key: 5}) SET n.field = 'astronomy'")
    now = published_model.read_published(store, "fresh")
    assert now.graph.attribute_names == before.graph.attribute_names
    assert sum("unknown to the recipe" in note for note in now.notes) == 1
    own("MATCH (n:RefreshPaper) SET n.field = n.key")
    others = published_model.read_published(store, "fresh")
    assert any("encoded anew" in note for note in others.notes)


def test_what_is_not_there_is_one_line(invoke, own, store):
    for picture in ("disk", "reliability", "degree"):
        line = invoke(picture, model="fresh", code=4).stderr.splitlines()[-1]
        assert line == (
            "heat: model 'fresh' has no published coordinates in this database: run `heat embed`, or choose "
            "a model of `heat runs`"
        )
    embed(store, OWN, HEAT(2, **SMALL), model="fresh", links=None)
    missing = invoke("disk", "--caption", "nmae", model="fresh", code=4).stderr.splitlines()[-1]
    assert missing.startswith("heat: no node of the projection has a property 'nmae'")
    assert "has no predicted links" in invoke("disk", "--links", "3", model="fresh", code=4).stderr


def test_a_model_without_probabilities_has_no_reliability(invoke, own, store):
    own("MATCH (n:RefreshPaper) WHERE n.key > 5 DETACH DELETE n")
    own("MATCH (:RefreshPaper)-[r]->() DELETE r")
    own(
        "MATCH (a:RefreshPaper) MATCH (b:RefreshPaper) WHERE b.key = a.key + 1 OR b.key = 0 AND a.key = 5 "
        "CREATE (a)-[:REFRESH_CITES]->(b)"
    )
    embed(store, OWN, HEAT(2, **SMALL), model="fresh", links=None)
    line = invoke("reliability", model="fresh", code=4).stderr.splitlines()[-1]
    assert line == "heat: model 'fresh' has no link probabilities: run `heat links`"
