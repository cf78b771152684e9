"""`to_neo4j_viz` with the library itself: each node lies where the disk of Poincare has it."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from neo4j_viz import Layout
from sklearn.exceptions import NotFittedError

from heat_neo4j import HEAT, to_neo4j_viz
from heat_neo4j.database.read.published import StoredLinks
from heat_neo4j.database.store import Neo4jStore
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.explore import neo4j_viz as neo4j_viz_module
from heat_neo4j.geometry.hyperboloid import lift, radius, to_poincare
from heat_neo4j.plots.style import COLOURS
from tests.support.retrieval_toy import HOSTILE, published_toy


def model(n_components=2, n=12):
    ring = np.zeros((n, n))
    ring[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    points = lift(np.random.default_rng(0).normal(size=(n, n_components)))
    return HEAT.from_points(ring, points)


def test_the_nodes_of_an_estimator_lie_in_the_disk():
    fitted = model()
    drawn = to_neo4j_viz(fitted)
    places = np.array([(node.x, node.y) for node in drawn.nodes]) / 1000.0
    assert np.allclose(places, to_poincare(fitted.embedding_))
    assert [node.properties["radius"] for node in drawn.nodes] == pytest.approx(
        radius(fitted.embedding_).tolist()
    )
    assert [node.caption for node in drawn.nodes] == [str(name) for name in fitted.nodes_]
    assert {(tie.source, tie.target) for tie in drawn.relationships} == set(
        zip(fitted.graph_.edges.row.tolist(), fitted.graph_.edges.col.tolist(), strict=True)
    )
    html = drawn.render(layout=Layout.COORDINATE).data
    assert re.search(r'"layout": "(\w+)"', html)[1] == Layout.COORDINATE == "free"


def test_predicted_links_have_a_look_of_their_own(monkeypatch):
    """As they are stored, the likeliest first: with a type and a probability, or without."""
    fitted = model()
    published = SimpleNamespace(graph=fitted.graph_)
    rows = {
        "source": np.array([0, 3, 5]),
        "target": np.array([4, 1, 9]),
        "distance": np.array([0.5, 0.7, 0.9]),
    }
    typed = StoredLinks(
        types=["RATED", "a\x1b[2J", "RATED"], probability=np.array([0.871, 0.5, 0.25]), **rows
    )
    plain = StoredLinks(types=["", "", ""], probability=None, **rows)
    found = iter([typed, plain, typed, None])
    for name, given in {
        "read_published": lambda *_, **__: published,
        "node_names": lambda *_: list(map(str, fitted.nodes_)),
        "embed_in_plane": lambda *_, **__: fitted.embedding_,
        "read_links": lambda *_: next(found),
    }.items():
        monkeypatch.setattr(neo4j_viz_module, name, given)
    n_ties = len(to_neo4j_viz(fitted).relationships)
    store = object.__new__(Neo4jStore)
    drawn = to_neo4j_viz(store, max_links=2)
    ties, links = drawn.relationships[:n_ties], drawn.relationships[n_ties:]
    assert [(link.source, link.target, link.caption) for link in links] == [
        (0, 4, "RATED 0.87"),
        (3, 1, "a\\x1b[2J 0.5"),
    ]
    assert [link.properties["probability"] for link in links] == [0.871, 0.5]
    assert {link.properties["distance"] for link in links} == {0.5, 0.7}
    assert {tie.color for tie in ties} == {None}
    assert {link.color.as_hex() for link in links} == {COLOURS[3]}
    assert len({tie.id for tie in drawn.relationships}) == n_ties + 2
    html = drawn.render(layout="free").data
    assert '"caption": "RATED 0.87"' in html
    assert '"predicted"' in html
    links = to_neo4j_viz(store).relationships[n_ties:]
    assert [link.caption for link in links] == ["predicted"] * 3
    assert "probability" not in links[0].properties
    assert len(to_neo4j_viz(store, max_links=0).relationships) == n_ties
    assert len(to_neo4j_viz(store).relationships) == n_ties
    with pytest.raises(ValueError, match="max_links must be at least 0"):
        to_neo4j_viz(store, max_links=-1)


@pytest.mark.live
@pytest.mark.slow
def test_a_published_model_is_drawn_with_its_names_types_and_labels(server, store):
    with published_toy(server, 20) as toy:
        drawn = to_neo4j_viz(store, toy.model)
        by_name = {node.caption: node for node in drawn.nodes}
        assert set(by_name) >= {f"p{i}" for i in range(len(HOSTILE), 20)}
        for i in range(len(HOSTILE), 20):
            node = by_name[f"p{i}"]
            assert np.allclose((node.x, node.y), 1000.0 * to_poincare(toy.points[i]))
            assert store.find_node(f"p{i}", model=toy.model) == node.id
            assert set(node.properties["labels"]) == {toy.label, f"Paper{toy.label}"}
        assert all(caption.isprintable() for caption in by_name)
        name_of = {node.id: name for name, node in by_name.items()}
        ties = {(name_of[tie.source], tie.caption, name_of[tie.target]) for tie in drawn.relationships}
        assert {("p10", toy.cites, name) for name in ("p11", "p12", "p15")} <= ties
        assert len(ties) == 100
        predicted = [tie for tie in drawn.relationships if tie.color is not None]
        expected = {(f"p{i}", f"p{i + 7}") for i in range(len(HOSTILE), 13)}
        assert {(name_of[tie.source], name_of[tie.target]) for tie in predicted} >= expected
        assert all(tie.caption.startswith(f"{toy.cites} 0.") for tie in predicted)
        assert len(predicted) == 40
        html = drawn.render(layout="free").data
        assert "<script>alert(1)" not in html
        with pytest.raises(ProjectionError, match="'nothing' has no published coordinates"):
            to_neo4j_viz(store, "nothing")


def test_what_cannot_be_drawn_is_told(monkeypatch):
    with pytest.raises(ValueError, match=r"only 2 dimensions can be drawn, got 3: HEAT\(n_components=2\)"):
        to_neo4j_viz(model(3))
    with pytest.raises(NotFittedError):
        to_neo4j_viz(HEAT())
    monkeypatch.setitem(sys.modules, "neo4j_viz", None)
    with pytest.raises(ConfigError, match="to_neo4j_viz needs neo4j-viz: pip install"):
        to_neo4j_viz(model())
