"""The commands on a live server, as a user and as a script see them."""

import os
import re
import signal
import subprocess
import sys

import pytest

from heat_neo4j.cli import verbs
from heat_neo4j.cli.output import Reporter
from tests.support.commands import invoker, json_of
from tests.support.live_graph import drop_indexes, open_cypher, snapshot

pytestmark = pytest.mark.live

EMBED = (
    *("embed", "--label", "CliPaper", "--relationship", "CLI_CITES", "--model", "cli", "--random-state", "3"),
    *("--n-components", "2", "--walks-per-node", "2", "--walk-length", "8", "--k", "2", "--n-threads", "1"),
    *("--min-probability", "0", "--no-index"),
)


@pytest.fixture
def cypher(server):
    with open_cypher(server) as run:
        run("UNWIND range(0, 39) AS i CREATE (:CliPaper {key: i, year: 2000 + i % 5})")
        run(
            "MATCH (a:CliPaper) MATCH (b:CliPaper) WHERE (b.key - a.key + 40) % 40 IN [1, 3] "
            "CREATE (a)-[:CLI_CITES]->(b)"
        )
        yield run
        run(
            "MATCH (n) WHERE n:CliPaper OR (n:HeatRun|HeatVersion AND n.model = 'cli') "
            "OR (n:HeatModel AND n.name = 'cli') DETACH DELETE n"
        )


@pytest.fixture(scope="module", autouse=True)
def _no_index_is_left(server):
    yield
    with open_cypher(server) as run:
        drop_indexes(run, "cli", "CliPaper")


@pytest.fixture
def invoke(server):
    return invoker(server)


@pytest.mark.vector_index
def test_embed_says_what_it_did_and_how_to_use_it(invoke, cypher):
    result = invoke(*EMBED, "--index")
    shown = dict(re.findall(r"^(\w+) +(.*)$", result.stdout, re.MULTILINE))
    assert re.fullmatch(r"\S+ \(complete\) of model 'cli'", shown["Run"])
    assert shown["Graph"] == "40 nodes, 80 edges, 0 attribute columns"
    assert re.fullmatch(r"[\d,]+ pairs, loss \d\.\d{4}, seed 3", shown["Training"])
    assert "poincare coordinates of 40 nodes in cliEmbedding, cliRadius, cliRun" in result.stdout
    assert re.search(r"\d+ predicted links of type CLI_PREDICTED", result.stdout)
    stages = ["write coordinates", "write links", "settle", "build index"]
    assert [line.split(":")[0] for line in result.stderr.splitlines()[-4:]] == stages
    assert result.stderr.splitlines()[-1].startswith("build index: 40 in ")
    assert len(cypher(result.stdout.split("Try ")[1])) == 10
    more = invoke(*EMBED, "--index", "-v").stdout
    assert "              train: " in more
    assert len(more.splitlines()) == len(result.stdout.splitlines()) + 11  # a line for each stage


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "column"),
    [
        (["--score", "link"], "p.probability"),
        (["--score", "distance"], "p.distance"),
    ],
)
def test_the_query_to_try_returns_how_strong_a_link_is(invoke, cypher, options, column):
    cypher(  # as many relationships again: enough to hold out what a probability is fitted on
        "MATCH (a:CliPaper) MATCH (b:CliPaper) WHERE (b.key - a.key + 40) % 40 IN [2, 4] "
        "CREATE (a)-[:CLI_CITES]->(b)"
    )
    rows = cypher(invoke(*EMBED, *options).stdout.split("Try ")[1])
    assert [list(row.keys()) for row in rows] == [["a", "p.type", "b", column]] * 10
    assert all(row[column] is not None for row in rows)
    source, target = rows[0]["a"].element_id, rows[0]["b"].element_id
    (found,) = json_of(invoke("recommend", source, "--model", "cli", "--json"))["patterns"]
    first = found["links"][0]
    assert (first["element_id"], first["rank"]) == (target, 1)
    why = json_of(invoke("explain", source, target, "--model", "cli", "--json"))
    for each in (first, why):
        assert each[column.removeprefix("p.")] == pytest.approx(rows[0][column])
    if why["probability"] is not None:
        assert sum(part["log_odds"] for part in why["contributions"]) == pytest.approx(why["log_odds"])


def test_json_is_one_document_and_nothing_else(invoke, cypher):
    document = json_of(invoke(*EMBED, "--json"))
    assert (document["status"], document["model"], document["nodes_written"]) == ("complete", "cli", 40)
    assert document["stage_seconds"]["train"] >= 0
    assert json_of(invoke("check", "--label", "CliPaper", "--json"))["nodes"] == 40
    assert json_of(invoke("estimate", "--label", "CliPaper", "--scratch", ".", "--json"))["peak_memory"] > 0
    assert json_of(invoke("links", "--model", "cli", "--k", "1", "--json"))["parts"] == ["links"]
    listed = json_of(invoke("runs", "--model", "cli", "--json"))
    assert [run["parts"] for run in listed] == [["links"], ["embedding", "links"]]
    assert json_of(invoke("runs", "show", document["run_id"], "--json"))["seed"] == 3
    assert json_of(invoke("clear", "--model", "cli", "--yes", "--json"))["nodes"] == 40


def test_a_run_that_would_not_fit_is_refused_before_it_begins(invoke, cypher, monkeypatch):
    before = snapshot(cypher)
    limited = invoke(*EMBED, "--memory-limit", "1MB", code=8)
    monkeypatch.setattr("heat_neo4j._utils.memory.free_memory", lambda: 2**20)
    for result in (limited, invoke(*EMBED, code=8)):
        assert re.fullmatch(
            r"heat: the program alone takes about 300\.0 MiB of memory, and may use 1\.0 MiB: "
            r"raise --memory-limit to [\d.]+ MiB; nothing was started\n",
            result.stderr.splitlines(keepends=True)[-1],
        )
    assert snapshot(cypher) == before


def test_a_time_limit_ends_the_training_and_publishes_what_there_is(invoke, cypher):
    document = json_of(
        invoke(*EMBED, "--walks-per-node", "30000", "--time-limit", "0.5", "--json", "--no-links")
    )
    assert (document["status"], document["nodes_written"]) == ("complete", 40)
    (note,) = document["notes"]
    assert re.fullmatch(r"training ended at the time limit, after [\d.]+% of its pairs", note)
    assert document["parameters"]["time_limit"] == 0.5


def test_check_lists_what_matches(invoke, cypher):
    cypher("MATCH (n:CliPaper {key: 0}) SET n.`a note` = 'x'")
    result = invoke("check", "--label", "CliPaper", "--attribute", "year")
    assert "Nodes         40: CliPaper 40\n" in result.stdout
    assert "Relationships 80: CLI_CITES 80\n" in result.stdout
    assert "Attributes    year: number, 1 column\n" in result.stdout
    assert "Not read      a note, key: --attribute or --text reads them\n" in result.stdout
    assert json_of(invoke("check", "--label", "CliPaper", "--key", "key", "--json"))["unread"] == [
        "a note",
        "year",
    ]
    assert result.stdout.endswith("Problems      none: `heat embed` can run\n")


@pytest.mark.constraint
def test_unique_properties_are_proposed_as_keys(invoke, cypher):
    asked = ("--label", "CliPaper")
    cypher("CREATE CONSTRAINT cli_key FOR (n:CliPaper) REQUIRE n.key IS UNIQUE")
    cypher("CREATE CONSTRAINT cli_pair FOR (n:CliPaper) REQUIRE (n.year, n.key) IS UNIQUE")
    cypher("CREATE CONSTRAINT cli_none FOR (n:CliPaper) REQUIRE n.isbn IS UNIQUE")  # which no node has
    cypher("CREATE CONSTRAINT cli_other FOR (n:CliNobody) REQUIRE n.name IS UNIQUE")
    line = "nodes have no key, so results show numbers; unique here: --key CliPaper=key"
    try:
        assert json_of(invoke("check", *asked, "--json"))["advice"] == [line]
        assert json_of(invoke("check", *asked, "--key", "key", "--json"))["advice"] == []
        wrong = invoke("check", *asked, "--key", "year", code=4).stdout
        assert "Advice        unique here: --key CliPaper=key\n" in wrong
        assert f"Note          {line}\n" in invoke(*EMBED, "--no-links").stdout
        error = invoke("recommend", "7", "--model", "cli", code=4).stderr
        assert "the model has no key to find '7' by" in error
    finally:
        for name in ("cli_key", "cli_pair", "cli_none", "cli_other"):
            cypher(f"DROP CONSTRAINT {name}")


def test_check_says_that_texts_are_dates_or_numbers_and_what_to_do(invoke, cypher):
    names = ("the day", "since", "price")
    asked = ("check", "--label", "CliPaper", *(word for name in names for word in ("--attribute", name)))
    cypher("MATCH (n:CliPaper) SET n.`the day` = '2024-05-1' + n.year % 10, n.since = '2024-05-17T08:30'")
    cypher("MATCH (n:CliPaper) SET n.price = toString(n.year) + ',5'")
    shown = invoke(*asked).stdout
    what = "holds dates as strings, each a separate category: make them dates in Cypher with"
    assert f"Advice        the day {what} SET n.`the day` = date(n.`the day`)\n" in shown
    assert f"              since {what} SET n.`since` = datetime(n.`since`)\n" in shown
    assert "price holds numbers as strings, each a separate category: leave ident" in shown
    assert len(json_of(invoke(*asked, "--json"))["advice"]) == 3
    for statement in shown.split("SET ")[1:]:
        cypher(f"MATCH (n:CliPaper) SET {statement.splitlines()[0]}")
    shown = invoke(*asked).stdout
    assert "Advice" not in shown
    assert "since: date, 1 column" in shown
    assert "price: number, 1 column" in shown


def test_check_advises_no_split_of_an_attribute_by_label(invoke, cypher):
    asked = ("check", "--label", "CliPaper", "--label", "CliNobody", "--attribute", "year", "--json")
    cypher("CREATE (:CliNobody)")  # values of two labels could no longer be compared
    try:
        assert json_of(invoke(*asked))["advice"] == []
    finally:
        cypher("MATCH (n:CliNobody) DELETE n")


def test_check_says_that_nearly_every_node_has_a_category_of_its_own(invoke, cypher):
    asked = ("check", "--label", "CliPaper", "--attribute", "title", "--attribute", "venue")
    cypher("MATCH (n:CliPaper) SET n.title = 'on paper ' + n.key, n.venue = 'venue ' + n.key % 20")
    (line,) = json_of(invoke(*asked, "--json"))["advice"]
    assert line == (
        "title holds 40 different strings on 40 nodes, each a separate category: "
        "read their words with `text`, or leave it out if it is an identifier"
    )
    (line,) = json_of(invoke(*asked, "--max-categories", "30", "--json"))["advice"]
    assert line.startswith("title holds 30 and more different strings on 40 nodes")
    cypher("MATCH (n:CliPaper) WHERE n.key > 0 SET n.title = 'on paper ' + n.key % 20")
    assert json_of(invoke(*asked, "--json"))["advice"] == []


def test_check_shows_the_recipe_and_whose_it_is(invoke, cypher):
    cypher("MATCH (n:CliPaper) SET n.title = 'word' + (n.key % 3) + ' paper'")
    asked = ("--label-attribute", "CliPaper=year", "--text", "title")
    check = ("check", "--label", "CliPaper", "--model", "cli", *asked)
    embed = (*EMBED, "--no-links", *asked, "--json")
    shown = invoke(*check).stdout
    assert (
        "Attributes    title: text, 4 columns\n              CliPaper.year: number, 1 column\n"
        "Recipe        new\n"
        "              title: vocabulary of 4 hashed words\n              CliPaper.year: mean 2002\n"
    ) in shown
    run_id = json_of(invoke(*embed))["run_id"]
    assert f"Recipe        as in run {run_id}\n" in invoke(*check).stdout
    assert json_of(invoke(*check, "--json"))["recipe"] == f"as in run {run_id}"
    cypher("MATCH (n:CliPaper {key: 0}) SET n.title = 'unheard of'")
    assert "2 attribute values unknown to the recipe: left out\n" in invoke(*check).stdout
    (note,) = json_of(invoke(*embed))["notes"]
    assert note.startswith("2 values of attributes are unknown to the recipe of run ")
    assert json_of(invoke(*embed, "--new-recipe"))["notes"] == []
    cypher("MATCH (n:CliPaper) SET n.year = 'none'")
    shown = invoke(*check).stdout
    assert "Recipe        new: attribute 'CliPaper.year' has category values where its recipe has" in shown


def test_weights_by_type_are_taken(invoke, cypher):
    document = json_of(invoke(*EMBED, "--type-weight", "CLI_CITES=2.5", "--json"))
    assert document["projection"]["type_weights"] == {"CLI_CITES": 2.5}


def test_check_lists_all_problems_and_fails(invoke, cypher):
    cypher("MATCH (n:CliPaper {key: 3}) SET n.year = 'none'")
    cypher("MATCH (:CliPaper {key: 3})-[r]->() SET r.weight = -1.0")
    before = snapshot(cypher)
    result = invoke("check", "--label", "CliPaper", "--attribute", "year", "--weight", "weight", code=4)
    assert snapshot(cypher) == before
    problems = result.stdout.split("Problems      ")[1].splitlines()
    assert len(problems) == 2
    assert problems[0].startswith("weight 'weight' is not usable: 2 negative, e.g. -1.0 from node ")
    assert problems[1].startswith("              attribute 'year' mixes strings ('none') and numbers")
    last = result.stderr.splitlines()[-1]
    assert last == f"heat: `heat embed` would fail at 2 problems, first: {problems[0]}"


def test_estimate_prints_what_a_run_needs(invoke, cypher):
    result = invoke("estimate", "--label", "CliPaper", "--relationship", "CLI_CITES", "--no-links")
    assert result.stdout.startswith("Graph         40 nodes, 80 relationships, 0 attribute columns\n")
    assert re.search(
        r"^Memory +\d+\.\d MiB at the peak, of [\d.]+ \wiB free now$", result.stdout, re.MULTILINE
    )
    assert "predicted links" in result.stdout


@pytest.mark.slow
def test_an_estimate_counts_the_version_that_is_replaced(invoke, cypher):
    def estimate(model):
        return json_of(invoke("estimate", "--label", "CliPaper", "--model", model, "--json"))

    first = estimate("cli")
    invoke(*EMBED)
    next_one = estimate("cli")
    assert [each["size"]["replaces"] for each in (first, next_one, estimate("other"))] == [False, True, False]
    assert next_one["seconds"]["index"] > first["seconds"]["index"]


@pytest.mark.vector_index
def test_a_query_is_shown_with_the_names_of_a_model(invoke, cypher):
    shown = invoke("cypher", "show", "links_of", "--model", "cli", code=4)
    assert "model 'cli' has no published coordinates in this database" in shown.stderr
    invoke(*EMBED, "--index")
    here = ("--label", "CliPaper", "--property", "key")
    shown = {
        name: invoke("cypher", "show", name, *here, "--model", "cli").stdout
        for name in ("links_of", "nearest", "search/nearest")
    }
    shown["outliers"] = invoke("cypher", "show", "outliers", "--model", "cli").stdout
    assert "[p:`CLI_PREDICTED`]" in shown["links_of"]
    assert ':param model => "cli"' in shown["nearest"]
    assert "`cli_CliPaper`" in shown["search/nearest"]
    assert "`cliRadius`" in shown["outliers"]
    assert not any("HEAT_" in text or "`heat" in text or "Module" in text for text in shown.values())


@pytest.mark.slow
@pytest.mark.vector_index
def test_a_rollback_says_how_far_it_is(invoke, cypher):
    invoke(*EMBED, "--index")
    invoke(*EMBED, "--index")
    told = invoke("rollback", "--model", "cli", "--dry-run").stdout
    result = invoke("rollback", "--model", "cli")
    assert told.replace("would be", "is") == result.stdout
    told = invoke("prune", "--model", "cli", "--records", "0", "--dry-run").stdout
    assert told == "model 'cli': would remove 0 records of earlier runs\n"
    stages = ["index new version", "settle", "build index"]
    assert [line.split(":")[0] for line in result.stderr.splitlines()[-3:]] == stages
    assert json_of(invoke("rollback", "--model", "cli", "--json"))["model"] == "cli"


def test_runs_are_listed_and_shown(invoke, cypher):
    assert "there is no model 'cli' in this database" in invoke("runs", "--model", "cli", code=4).stderr
    run_id = json_of(invoke(*EMBED, "--json"))["run_id"]
    lines = invoke("runs", "--model", "cli").stdout.splitlines()
    names = "RUN MODEL PARTS DECISION STATUS STARTED TIME NODES LINKS LOSS AUROC MOVE"
    assert lines[0].split() == names.split()
    assert lines[1].split()[:5] == [run_id, "cli", "embedding+links", "full", "complete"]
    shown = invoke("runs", "show", run_id).stdout
    assert f"Run           {run_id} (complete) of model 'cli'" in shown
    assert "n_components = 2" in shown
    assert "labels = ['CliPaper']" in shown
    assert "Versions" in shown


def test_clear_asks_and_takes_no_for_an_answer(invoke, cypher, monkeypatch):
    drop_indexes(cypher, "cli", "CliPaper")
    before = snapshot(cypher)
    invoke(*EMBED)
    published = snapshot(cypher)
    shown = invoke("clear", "--model", "cli", "--dry-run").stdout
    assert re.fullmatch(r"would remove 1 run, values of 40 nodes, \d+ predicted links\n", shown)
    refused = invoke("clear", "--model", "cli", code=2)
    assert "pass --yes to confirm" in refused.stderr
    monkeypatch.setattr("heat_neo4j.cli.commands.clear._can_ask", lambda: True)
    assert invoke("clear", "--model", "cli", code=130, input="n\n").stderr.endswith("heat: interrupted\n")
    assert snapshot(cypher) == published
    assert invoke("clear", "--model", "cli", input="y\n").stdout.startswith("removed 1 run, ")
    assert snapshot(cypher) == before
    assert "there is no model 'cli' in this database" in invoke("clear", "--model", "cli", code=4).stderr


def test_a_dry_run_shows_what_would_be_written(invoke, cypher):
    before = snapshot(cypher)
    shown = invoke(*EMBED, "--dry-run").stdout
    assert "none, nothing is written (dry run) of model 'cli'" in shown
    assert "Would write   poincare coordinates of 40 nodes in cliEmbedding" in shown
    assert shown.startswith("Plan          full: asked for\n              read: 40 nodes, ")
    assert "              publish: coordinates and links of model 'cli'\n" in shown
    assert "Try" not in shown
    assert snapshot(cypher) == before
    done = invoke(*EMBED).stdout
    assert "Plan" not in done
    shown = invoke("links", "--model", "cli", "--dry-run").stdout
    stages = ["Plan", "read", "coordinates", "calibrate", "links", "publish", "Run"]
    assert [line.split()[0].strip(":") for line in shown.splitlines()[: len(stages)]] == stages
    document = json_of(invoke("links", "--model", "cli", "--dry-run", "--json"))
    assert [stage["stage"] for stage in document["plan"]["stages"]] == stages[1:-1]


class _Interrupted(Reporter):
    def __call__(self, stage, done, total):
        super().__call__(stage, done, total)
        if stage == "write coordinates" and done:
            raise KeyboardInterrupt


def test_ctrl_c_while_writing_leaves_the_published_version(invoke, cypher, monkeypatch):
    invoke(*EMBED)
    before = snapshot(cypher)
    monkeypatch.setattr(verbs, "Reporter", _Interrupted)
    line = invoke(*EMBED, "--random-state", "4", "--json", code=130).stderr
    run_id = re.search(r"run (\S+) is incomplete", line)[1]
    assert line == (
        f"heat: interrupted: run {run_id} is incomplete and what was published before is untouched: "
        f"repeat, or remove the rest with `heat clear --run {run_id}`\n"
    )
    invoke("clear", "--run", run_id, "--yes")
    assert snapshot(cypher) == before


def test_ctrl_c_in_the_middle_is_one_line_and_exit_code_130(server, cypher):
    before = snapshot(cypher)
    arguments = [*EMBED, "--walks-per-node", "2000000", "--no-links"]
    process = subprocess.Popen(
        [sys.executable, "-m", "heat_neo4j", *arguments],
        env={**os.environ, **server.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("walks: "):  # the first of many lines, five seconds into the walks
            break
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (130, "")
    assert [line for line in stderr.splitlines() if ":" not in line or "heat" in line] == [
        "heat: interrupted"
    ]
    assert snapshot(cypher) == before
