"""The next run encodes attributes as the published one did, on a live server."""

import numpy as np
import pytest

from heat_neo4j import HEAT
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ProjectionError
from heat_neo4j.pipeline.embed import embed, predict
from heat_neo4j.pipeline.job import LinkOptions
from tests.support.live_graph import open_cypher
from tests.support.slow import slow

pytestmark = pytest.mark.live

NAMES = WriteNames("fresh")
PAPERS = Projection(
    ["RefreshPaper"], ["REFRESH_CITES"], attributes=["year", "venue"], text=["title"], key="key"
)


def run(store, projection=PAPERS, **options):
    small = {"n_components": 2, "walks_per_node": 1, "walk_length": 8, "n_threads": 1, "random_state": 0}
    return embed(store, projection, HEAT(**small), model=NAMES.model, links=None, **options)


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        run(
            "UNWIND range(0, 19) AS i CREATE (:RefreshPaper {key: i, year: 2000 + i, "
            "venue: ['KDD', 'WWW'][i % 2], title: 'word' + (i % 4) + ' paper', at: point({x: i, y: 1})})"
        )
        run(
            "MATCH (a:RefreshPaper) MATCH (b:RefreshPaper {key: (a.key + 1) % 20}) "
            "CREATE (a)-[:REFRESH_CITES]->(b)"
        )
        yield run
        run(
            "MATCH (n) WHERE n:RefreshPaper OR (n:HeatRun|HeatVersion AND n.model = 'fresh') "
            "OR (n:HeatModel AND n.name = 'fresh') DETACH DELETE n"
        )


GROW = (
    "MATCH (a:RefreshPaper {key: 0}) "
    "CREATE (a)-[:REFRESH_CITES]->(:RefreshPaper {key: 20, venue: 'ICML', title: 'paper nowhere'})"
)


def test_the_recipe_of_the_published_run_is_applied_again(store, cypher):
    first = run(store)
    assert first.notes == ()
    cypher(GROW)
    second = run(store)
    assert second.run.attribute_recipe == first.run.attribute_recipe
    assert second.run.attribute_count == first.run.attribute_count
    assert second.run.counts["values_unknown_to_recipe"] == 2
    (note,) = second.notes
    assert note == (
        f"2 values of attributes are unknown to the recipe of run {first.run.run_id} and left out: "
        "--new-recipe learns anew"
    )
    anew = run(store, new_recipe=True)
    assert anew.notes == ()
    assert anew.run.attribute_count == second.run.attribute_count + 3  # year:missing, venue=ICML, nowhere
    assert run(store).run.attribute_recipe == anew.run.attribute_recipe


def test_an_unchanged_graph_is_encoded_to_the_same_bits(store, cypher):
    first = run(store, coordinates="hyperboloid")
    before = store.read_embedding(store.read_graph(PAPERS), NAMES.model)
    second = run(store, coordinates="hyperboloid")
    assert second.notes == ()
    assert second.run.attribute_recipe == first.run.attribute_recipe
    assert np.array_equal(store.read_embedding(store.read_graph(PAPERS), NAMES.model), before)


@pytest.mark.parametrize(
    "other",
    [
        {"attributes": ["year"]},
        slow({"max_categories": 1}),
        slow({"text": [], "attributes": ["year", "venue", "title"]}),
        slow({"attributes": ["year"], "label_attributes": {"RefreshPaper": ["venue"]}}),
        slow({"labels": None, "node_filter": "n:RefreshPaper"}),
    ],
    ids=repr,
)
def test_a_recipe_for_other_attributes_is_not_applied(store, cypher, other):
    first = run(store)
    projection = Projection.from_dict(PAPERS.to_dict() | other)
    second = run(store, projection)
    assert second.notes == (f"attributes are encoded anew: they differ from run {first.run.run_id}",)
    graph = store.read_graph(projection)
    assert list(second.run.attribute_recipe) == list(graph.provenance.attribute_recipe)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("n.year = toString(n.year)", "attribute 'year' has category values where its recipe has number"),
        (
            "n.at = point({longitude: n.key, latitude: 1})",
            "attribute 'at' has points of srid 4326 where its recipe has 7203: fit it anew",
        ),
    ],
)
def test_values_that_no_longer_fit_are_learnt_anew_and_it_is_said(store, cypher, change, why):
    projection = Projection(["RefreshPaper"], attributes=["year", "at"], key="key")
    first = run(store, projection)
    cypher(f"MATCH (n:RefreshPaper) SET {change}")
    second = run(store, projection)
    assert second.notes == (f"attributes are encoded anew, not as in run {first.run.run_id}: {why}",)
    assert second.run.attribute_recipe != first.run.attribute_recipe
    cypher("MATCH (n:RefreshPaper) SET n.year = CASE n.key WHEN 0 THEN 1 ELSE 'a' END")
    with pytest.raises(ProjectionError, match="attribute 'year' mixes strings"):
        run(store, projection)


def test_predict_reads_by_the_recipe_of_its_run(store, cypher):
    first = run(store)
    cypher("MATCH (n:RefreshPaper {key: 3}) SET n.venue = 'ICML'")
    report = predict(store, "fresh", links=LinkOptions(k=1, score="distance"))
    assert report.run.attribute_recipe == first.run.attribute_recipe
    assert report.notes[0].startswith("1 value of attributes is unknown to the recipe of run ")
