"""`to_neo4j_viz` with the library itself: each node lies where the disk of Poincare has it."""

import re
import sys

import numpy as np
import pytest
from neo4j_viz import Layout
from sklearn.exceptions import NotFittedError

from heat_neo4j import HEAT, to_neo4j_viz
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.geometry.hyperboloid import lift, radius, to_poincare
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
        assert len(ties) == 60
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
