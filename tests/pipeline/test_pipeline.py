"""The whole trip on a live server: what `embed` and `predict` leave in the graph, read back."""

import numpy as np
import pytest

from heat_neo4j import HEAT
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.errors import ConnectionFailed, ProjectionError, WriteRefused
from heat_neo4j.linkpred.link_score import LinkScore
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.pipeline.embed import embed, predict
from heat_neo4j.pipeline.job import LinkOptions
from heat_neo4j.pipeline.verify import verify
from tests.support.dask_processes import connected, scheduler, worker
from tests.support.live_graph import open_cypher, published_node, runs_in_graph, snapshot
from tests.support.slow import slow

pytestmark = pytest.mark.live

NODES = 60
PAPERS = Projection(["RefreshPaper"], ["REFRESH_CITES"], attributes=["words"], key="key")
NAMES = WriteNames("fresh")
LINKS = LinkOptions(k=3, min_probability=0.0)


def new_model(**changed):
    small = {"n_components": 3, "walks_per_node": 2, "walk_length": 10, "n_negatives": 3, "n_threads": 1}
    return HEAT(**{**small, "random_state": 4, **changed})


@pytest.fixture
def cypher(server):
    """Two rings of thirty papers with shortcuts and words of their own, and a bystander."""
    with open_cypher(server) as run:
        run(
            "UNWIND range(0, $n - 1) AS i "
            "CREATE (:RefreshPaper {key: i, words: ['w' + (i / 30), 'v' + (i % 7)]})",
            n=NODES,
        )
        run(
            "MATCH (a:RefreshPaper) MATCH (b:RefreshPaper) "
            "WHERE a.key / 30 = b.key / 30 AND (b.key - a.key + 30) % 30 IN [1, 2, 5] "
            "CREATE (a)-[:REFRESH_CITES]->(b)"
        )
        run("MATCH (a:RefreshPaper {key: 0}) CREATE (:PipeReader {heatEmbedding: 'mine'})-[:PIPE_LIKES]->(a)")
        yield run
        run(
            "MATCH (n) WHERE n:RefreshPaper OR n:PipeReader OR (n:HeatRun|HeatVersion AND n.model = 'fresh') "
            "OR (n:HeatModel AND n.name = 'fresh') DETACH DELETE n"
        )


def predicted(cypher, kind="FRESH_PREDICTED"):
    """Return {(key of the source, of the target): properties} of published links, and of a user's own."""
    rows = cypher(f"MATCH (a)-[p:`{kind}`]->(b) RETURN a.key AS a, b.key AS b, properties(p) AS p")
    return {(row["a"], row["b"]): row["p"] for row in rows}


def as_read(found):
    """Return predicted links in the form of `predicted`, run ids left out; rows are keys here."""
    ranks = zip(found.rank.tolist(), found.pattern_rank.tolist(), strict=True)
    columns = zip(
        found.source, found.target, found.types, ranks, found.distance, found.probability, strict=True
    )
    return {
        (int(a), int(b)): {
            "type": kind,
            "rank": rank,
            "patternRank": pattern_rank,
            "distance": distance,
            "probability": probability,
        }
        for a, b, kind, (rank, pattern_rank), distance, probability in columns
    }


def without_run(links):
    return {pair: {name: p[name] for name in p if name != "run"} for pair, p in links.items()}


MORE_CITATIONS = (
    "MATCH (a:RefreshPaper) MATCH (b:RefreshPaper) "
    "WHERE a.key / 30 = b.key / 30 AND (b.key - a.key + 30) % 30 IN [3, 4, 6, 7] "
    "CREATE (a)-[:REFRESH_CITES]->(b)"
)
"""What it takes for enough edges to be held out for a choice of parameters."""


def test_what_was_computed_is_what_is_published(store, cypher):
    model = new_model()
    report = embed(store, PAPERS, model, model=NAMES.model, links=LINKS, coordinates="hyperboloid")
    graph = store.read_graph(PAPERS)
    assert np.array_equal(store.read_embedding(graph, NAMES.model), model.embedding_)
    found = predict_links(model, graph, k=3, score=report.score, min_probability=0.0)
    assert without_run(predicted(cypher)) == as_read(found)
    assert set(runs_in_graph(cypher, "RefreshPaper", NAMES)["plain links"]) == {report.run.run_id}
    (record,) = store.runs("fresh")
    assert record == report.run
    assert (record.status, record.nodes_written, record.links_written) == ("complete", NODES, len(found))
    assert record.parameters["n_components"] == 3
    assert record.parameters["links"]["k"] == 3
    assert record.parameters["link_score"] == report.score.to_dict()
    assert record.parameters["links"]["predicted"] == {"RefreshPaper-REFRESH_CITES->RefreshPaper": len(found)}
    assert record.seed == 4
    assert record.projection == PAPERS.to_dict()
    stages = {
        "read",
        "similarity",
        "walks",
        "train",
        "calibrate",
        "links",
        "write coordinates",
        "write links",
        "index new version",
        "settle",
        "build index",
    }
    assert set(record.stage_seconds) == stages
    assert all(seconds >= 0 for seconds in record.stage_seconds.values())


def test_the_next_run_reads_the_graph_and_not_its_own_output(store, cypher):
    everything = Projection(["RefreshPaper"], attributes=["words"])
    first, second = new_model(), new_model()
    links = LinkOptions(k=3, min_probability=0.0)  # without keys, the bits follow from the element ids
    reports = [embed(store, everything, model, model=NAMES.model, links=links) for model in (first, second)]
    assert np.array_equal(first.embedding_, second.embedding_)
    assert {p["run"] for p in predicted(cypher).values()} == {reports[1].run.run_id}
    in_graph = runs_in_graph(cypher, "RefreshPaper", NAMES)
    assert [set(in_graph[copy]) for copy in ("previous", "plain")] == [{each.run.run_id} for each in reports]
    assert set(in_graph["previous links"]) == {reports[0].run.run_id}
    assert [run.status for run in store.runs("fresh")] == ["complete", "superseded"]


def test_a_dry_run_says_the_same_and_writes_nothing(store, cypher):
    before = snapshot(cypher)
    planned = embed(store, PAPERS, new_model(), model=NAMES.model, links=LINKS, dry_run=True).run
    assert snapshot(cypher) == before
    done = embed(store, PAPERS, new_model(), model=NAMES.model, links=LINKS).run
    assert (planned.status, planned.run_id) == ("dry run", "")
    for name in ("nodes_written", "links_written", "embedding_property", "link_type", "coordinates"):
        assert getattr(planned, name) == getattr(done, name), name
    for name in ("dimension", "final_loss", "pair_count", "seed", "parameters"):
        assert getattr(planned, name) == getattr(done, name), name


@pytest.mark.parametrize(
    ("statement", "links", "error"),
    [
        ("MATCH (n:RefreshPaper {key: 7}) SET n.freshRadiusStaged = 0", LINKS, WriteRefused),
        slow("MATCH (n:RefreshPaper {key: 7}) CREATE (n)-[:FRESH_PREDICTED]->(n)", LINKS, WriteRefused),
        ("RETURN 1", LinkOptions(patterns=["Nobody-*->*"]), ProjectionError),
        slow("RETURN 1", LinkOptions(patterns=["*-PIPE_SITES->*"]), ProjectionError),
    ],
)
def test_what_would_be_refused_at_the_end_is_refused_before_training(store, cypher, statement, links, error):
    cypher(statement)
    before, stages = snapshot(cypher), set()
    with pytest.raises(error):
        embed(
            store, PAPERS, new_model(), model=NAMES.model, links=links,
            on_progress=lambda stage, done, total: stages.add(stage),
        )  # fmt: skip
    assert stages
    assert not stages & {"walks", "train"}
    assert snapshot(cypher) == before


def test_an_unknown_kind_of_coordinates_is_refused_before_reading():
    with pytest.raises(
        ValueError, match="coordinates must be one of poincare, hyperboloid, klein, got 'flat'"
    ):
        embed(None, PAPERS, new_model(), coordinates="flat")


def test_overwrite_leaves_relationships_of_the_user(store, cypher):
    cypher("MATCH (a:RefreshPaper {key: 7}) SET a.freshRadius = 'mine'")
    cypher("MATCH (a:RefreshPaper {key: 7}) CREATE (a)-[:FRESH_PREDICTED {mine: true}]->(a)")
    embed(store, PAPERS, new_model(), model=NAMES.model, links=LINKS, overwrite=True)
    assert predicted(cypher)[7, 7] == {"mine": True}
    (row,) = cypher("MATCH (a:RefreshPaper {key: 7}) RETURN a.freshRadius AS radius")
    assert isinstance(row["radius"], float)


def test_without_links_earlier_ones_stay_published(store, cypher):
    first = embed(store, PAPERS, new_model(), model=NAMES.model, links=LINKS).run
    second = embed(store, PAPERS, new_model(random_state=5), model=NAMES.model, links=None).run
    assert second.parts == ("embedding",)
    model = published_node(cypher, "fresh")
    assert (model["run"], model["linkRun"]) == (second.run_id, first.run_id)
    assert {p["run"] for p in predicted(cypher).values()} == {first.run_id}
    in_graph = runs_in_graph(cypher, "RefreshPaper", NAMES)
    assert set(in_graph["plain links"]) == {first.run_id}
    assert "previous links" not in in_graph


def test_predict_reads_coordinates_back_and_reuses_the_score(store, cypher):
    first = embed(store, PAPERS, new_model(), model=NAMES.model, links=LINKS)
    stages = set()
    report = predict(
        store,
        "fresh",
        links=LinkOptions(k=5, max_links=20, min_probability=0.0),
        on_progress=lambda stage, *_: stages.add(stage),
    )
    assert not {stage for stage in stages if "train" in stage}
    graph = store.read_graph(PAPERS)
    points = store.read_embedding(graph, NAMES.model)
    found = predict_links(points, graph, k=5, max_links=20, score=first.score, min_probability=0.0)
    assert without_run(predicted(cypher)) == as_read(found)
    assert report.run.parts == ("links",)
    assert report.run.parameters["embedding_run"] == first.run.run_id
    assert report.score == first.score
    model = published_node(cypher, "fresh")
    assert (model["run"], model["linkRun"]) == (first.run.run_id, report.run.run_id)
    assert predict(store, "fresh", links=LinkOptions(k=1)).run.status == "complete"


def test_predict_fits_the_score_that_the_run_did_not(store, cypher):
    embed(store, PAPERS, new_model(), model=NAMES.model, links=None)
    stages = set()
    report = predict(store, "fresh", links=LINKS, on_progress=lambda stage, *_: stages.add(stage))
    assert "probability: 1 of 4: train" in stages
    wanted = embed(store, PAPERS, new_model(), model=NAMES.model, links=LINKS).score
    assert report.score == wanted


def test_predict_without_coordinates(store, cypher):
    with pytest.raises(ProjectionError, match="model 'fresh' has no published coordinates"):
        predict(store, "fresh")
    embed(store, PAPERS, new_model(), model=NAMES.model, links=None)
    cypher("CREATE (:RefreshPaper {key: 1000})")
    with pytest.raises(ProjectionError, match="1 of 61 nodes have no coordinates"):
        predict(store, "fresh")


def test_links_without_probability_and_why(store, cypher):
    report = embed(store, PAPERS, new_model(), model=NAMES.model, links=LinkOptions(k=1, score="distance"))
    assert report.score is None
    (note,) = report.notes  # each paper cites as many as cite it
    assert "44 of 44 predicted links have no direction" in note
    assert all("probability" not in p for p in predicted(cypher).values())
    few = Projection(["RefreshPaper"], ["REFRESH_CITES"], node_filter="n.key < 8")
    report = embed(store, few, new_model(), model=NAMES.model, links=LinkOptions(k=1))
    assert report.score is None
    assert report.notes[0].startswith("no link score: ")


def published_coordinates(cypher):
    """Return {key: coordinates} as readers see them."""
    rows = cypher("MATCH (n:RefreshPaper) RETURN n.key AS key, n.freshEmbedding AS point")
    return {row["key"]: row["point"] for row in rows}


def insert_anew(cypher):
    """Replace the papers by equal ones that were created in the opposite order, last relationship first."""
    cypher("MATCH (n:RefreshPaper) DETACH DELETE n")
    cypher(
        "UNWIND range($n - 1, 0, -1) AS i "
        "CREATE (:RefreshPaper {key: i, words: ['w' + (i / 30), 'v' + (i % 7)]})",
        n=NODES,
    )
    cypher(
        "MATCH (a:RefreshPaper) MATCH (b:RefreshPaper) "
        "WHERE a.key / 30 = b.key / 30 AND (b.key - a.key + 30) % 30 IN [1, 2, 5] "
        "WITH a, b ORDER BY b.key DESC, a.key DESC CREATE (a)-[:REFRESH_CITES]->(b)"
    )


def test_one_seed_is_one_answer_for_any_number_of_threads_and_any_order_of_insertion(store, cypher):
    answers = []
    for prepare in (list, lambda: insert_anew(cypher)):
        prepare()
        for threads in (1, 2):
            model = new_model(n_threads=threads)
            embed(store, PAPERS, model, model=NAMES.model, links=LINKS)
            links = without_run(predicted(cypher))
            answers.append((model.embedding_.tobytes(), published_coordinates(cypher), links))
    assert len(answers[0][1]) == NODES
    assert None not in answers[0][1].values()
    assert all(answer == answers[0] for answer in answers[1:])


def test_what_attributes_tell_of_links_is_recorded(store, cypher):
    cypher(MORE_CITATIONS)
    model = new_model(alpha="auto")
    report = embed(store, PAPERS, model, model=NAMES.model, links=None, coordinates="hyperboloid")
    (record,) = store.runs("fresh")
    assert record.parameters["alpha"] == "auto"
    assert record.training == report.run.training
    assert record.training["alpha"] == model.alpha_
    assert [each["name"] for each in record.training["attributes"]] == ["words"]
    graph = store.read_graph(PAPERS)
    again = new_model(alpha=model.alpha_).fit(graph)
    assert np.array_equal(store.read_embedding(graph, NAMES.model), again.embedding_)


def test_the_link_score_ranks_the_links_and_is_kept_for_the_next_day(store, cypher):
    model = new_model()
    links = LinkOptions(k=3, score="link", min_probability=0.0)
    report = embed(store, PAPERS, model, model=NAMES.model, links=links)
    graph = store.read_graph(PAPERS)
    found = predict_links(model, graph, k=3, score=report.score, min_probability=0.0)
    assert without_run(predicted(cypher)) == as_read(found)
    ranked = sorted(predicted(cypher).values(), key=lambda p: p["rank"])
    assert [p["probability"] for p in ranked] == sorted((p["probability"] for p in ranked), reverse=True)
    (record,) = store.runs("fresh")
    assert LinkScore.from_dict(record.parameters["link_score"]) == report.score
    before = without_run(predicted(cypher))
    stages = set()
    again = predict(store, "fresh", links=LINKS, on_progress=lambda stage, *_: stages.add(stage))
    assert again.score == report.score
    assert again.run.parameters["links"]["score"] == "link"
    assert stages
    assert not {stage for stage in stages if "train" in stage}
    for pair, p in without_run(predicted(cypher)).items():
        assert p["probability"] == pytest.approx(before[pair]["probability"], rel=1e-9)
    plain = predict(store, "fresh", links=LinkOptions(k=3, score="distance"))
    assert plain.score is None


@pytest.mark.slow
def test_a_run_over_files_or_on_a_cluster_publishes_the_same_and_leaves_nothing(store, cypher, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def published(**places):
        model = new_model(n_parts=3, **places)
        run = embed(store, PAPERS, model, model=NAMES.model, links=LINKS).run
        rows = cypher("MATCH (n:RefreshPaper) RETURN n.key AS key, n.freshEmbedding AS at ORDER BY key")
        assert verify(store, model="fresh").equal
        return (rows, without_run(predicted(cypher))), run

    in_memory, _ = published()
    over_files, run = published(scratch=scratch)
    assert over_files == in_memory
    assert len(in_memory[1]) > NODES
    assert run.training["resumed"] is False
    assert not {"scratch", "scheduler"} & run.parameters.keys()
    with scheduler(tmp_path) as (_, file), worker(file), connected(file, 1) as client:
        on_cluster, run = published(scratch=scratch, scheduler=client.scheduler.address)
    assert on_cluster == in_memory
    assert len(run.training["workers"]) == 1
    assert list(scratch.iterdir()) == []

    def read(stage, done, total):
        pytest.fail(f"{stage}, though no scheduler answers")

    model = new_model(n_parts=3, scratch=scratch, scheduler="tcp://127.0.0.1:9")
    with pytest.raises(ConnectionFailed, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        embed(store, PAPERS, model, model=NAMES.model, links=None, on_progress=read)
