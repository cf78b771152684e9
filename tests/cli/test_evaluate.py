"""``heat evaluate`` on files: what it prints, what it refuses. (Live: integration/test_evaluate.py)"""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat

QUICK = ("--n-components", "2", "--walks-per-node", "2", "--walk-length", "8", "--n-threads", "1")


@pytest.fixture
def files(tmp_path):
    """Three groups of nodes, links within, attributes and classes that go with them."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    u, v = np.triu_indices(60, k=1)
    linked = rng.random(len(u)) < np.where(group[u] == group[v], 0.3, 0.02)
    lines = [f"n{a},n{b},1,2024-{1 + (a + b) % 12:02}-01" for a, b in zip(u[linked], v[linked], strict=True)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target,weight,time", *lines]) + "\n")
    values = rng.normal(size=(60, 3)) + np.eye(3)[group]
    rows = [f"n{node},{','.join(map(str, row))}" for node, row in enumerate(values)]
    (tmp_path / "attributes.csv").write_text("\n".join([",x,y,z", *rows]) + "\n")
    rows = [f"n{node},{'abc'[own]}" for node, own in enumerate(group)]
    (tmp_path / "labels.csv").write_text("\n".join([",class", *rows]) + "\n")
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(heat, ["evaluate", *arguments], prog_name="heat")
    assert result.exit_code == code, result.output
    return result


def named(files, *names):
    flags = {"edges": "--edges", "attributes": "--attribute-file", "labels": "--class-file"}
    return [part for name in names for part in (flags[name], str(files / f"{name}.csv"))]


def test_links_prints_a_table_of_all_methods_and_what_must_be_said(files):
    picture = files / "links.png"
    more = ("--seeds", "2", "--picture", str(picture))
    result = run("links", *named(files, "edges", "attributes"), *QUICK, *more)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Graph         60 nodes, ")
    assert lines[1].startswith("Task          link prediction: ")
    assert lines[4] == "Figures       mean ± standard deviation of 2 seeds, starting at 0"
    assert lines[6].split() == [
        "method", "MRR", "Hits@10", "P@10", "P@100", "P@written", "recall", "ECE", "AUROC", "AP",
        "seconds",
    ]  # fmt: skip
    assert [re.split("  +", line)[0] for line in lines[7:18]] == [
        "HEAT", "HEAT, link score", "popularity", "Adamic-Adar", "paths of three", "item neighbours",
        "RP3beta", "EASE", "SVD", "attribute cosine", "stack",
    ]  # fmt: skip
    assert [line.count("±") for line in lines[7:18]] == [8, 9, *[8] * 9]
    notes = result.stdout[result.stdout.index("Notes") :]
    assert (
        "HEAT, link score loses on MRR: " in notes
        or "HEAT, link score beats every baseline on MRR: " in notes
    )
    assert f"picture in {picture}" in notes
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "seed 1: Adamic-Adar: done in " in result.stderr


def test_columns_are_aligned(files):
    shown = run("links", *named(files, "edges"), *QUICK, "--score", "distance").stdout
    lines = shown.splitlines()
    assert lines[1].endswith("ranked among all other targets")
    header, *rows = lines[6 : lines.index("", 6)]
    assert header.split()[:3] == ["method", "MRR", "Hits@10"]
    place = header.index("AP ")
    assert all(row[place : place + 2] in ("0.", "1.") for row in rows if "no attributes" not in row)


def test_a_run_that_loses_says_so(files):
    weak = ("--walks-per-node", "1", "--walk-length", "2", "--learning-rate", "1e-9", *QUICK[:2])
    result = run("links", *named(files, "edges", "attributes"), *weak, "--seeds", "1", "--score", "distance")
    assert "HEAT loses on MRR: 0." in result.stdout
    assert "Figures       of seed 0" in result.stdout


def test_json_is_one_document_with_every_seed(files):
    arguments = ("links", *named(files, "edges"), *QUICK, "--seeds", "2", "--random-state", "5", "--json")
    result = run(*arguments)
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert document["seeds"] == [5, 6]
    heat_row, *others = document["methods"]
    auroc = heat_row["metrics"]["auroc"]
    assert auroc["mean"] == pytest.approx(np.mean(auroc["values"]))
    assert auroc["sd"] == pytest.approx(np.std(auroc["values"], ddof=1))
    assert len(heat_row["seconds"]) == 2
    cosine = next(row for row in others if row["method"] == "attribute cosine")
    assert (cosine["missing"], cosine["metrics"]) == ("the graph has no attributes", {})
    again = json.loads(run(*arguments).stdout)
    assert [row["metrics"] for row in again["methods"]] == [row["metrics"] for row in document["methods"]]


def test_a_baseline_that_is_not_there_is_a_line_of_the_table(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    shown = run("links", *named(files, "edges"), *QUICK, "--gensim").stdout
    line = "Nickel & Kiela (gensim)  not installed: pip install 'heat-neo4j[baselines]'"
    assert line in shown.splitlines()


def test_the_latest_edges_are_held_out(files):
    result = run("links", *named(files, "edges"), *QUICK, "--seeds", "1", "--no-baselines", "--split", "time")
    assert "the latest edges are held out, from 2024-1" in result.stdout
    assert "Adamic-Adar" not in result.stdout
    text = (files / "edges.csv").read_text()
    bare = "\n".join(line.rsplit(",", 1)[0] for line in text.splitlines())
    (files / "edges.csv").write_text(bare + "\n")
    result = run("links", *named(files, "edges"), *QUICK, "--split", "time", code=4)
    assert result.stderr.splitlines()[-1].startswith("heat: --split time needs times: ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("links", "--picture", "x.txt"), 2, "--picture must end in .png, .svg, .pdf, got 'x.txt'"),
        (("links", "--picture", "/no/such/x.png"), 2, "--picture: there is no folder '/no/such'"),
        (("links", "--attribute", "a"), 2, "with --edges, give --attribute-file instead of --attribute"),
        (("links", "--label", "A"), 2, "--label: --edges ignores directions and types"),
        (("links", "--model", "m"), 2, "--model names a model of a database: it does not go with --edges"),
        (("links", "--predict", "A-R->B"), 2, "--predict: --edges ignores directions and types"),
        (("links", "--attribute-file", "none.csv"), 2, "'--attribute-file': File 'none.csv' does not exist"),
        (("links", "--share", "1"), 2, "--share"),
    ],
)
def test_what_contradicts_itself_is_refused_at_once(files, arguments, code, words):
    result = run(*arguments, *named(files, "edges"), *QUICK, code=code)
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_walks_by_direction_are_refused_for_edges_that_have_none(files, tmp_path, monkeypatch):
    (tmp_path / "heat.toml").write_text("[heat]\nforward = 0.9\n")
    monkeypatch.chdir(tmp_path)
    result = run("links", *named(files, "edges"), *QUICK, code=2)
    assert (
        "forward and type_balance of heat.toml: --edges ignores directions and types: use heat load"
        in result.stderr
    )


def test_a_graph_that_cannot_be_cut_is_one_line(files):
    (files / "edges.csv").write_text("a,b\nc,d\n")
    assert "may be a header or an edge" in run("links", *named(files, "edges"), *QUICK, code=4).stderr
    more = ("--no-header", "--split", "connected")
    result = run("links", *named(files, "edges"), *more, *QUICK, code=4)
    reading = (
        "read edges.csv: no header; source = column 1, target = column 2; 2 undirected edges; first: a -> b"
    )
    assert reading in result.stderr.splitlines()
    *_, line = result.stderr.splitlines()
    assert line.startswith("heat: the graph cannot be evaluated: no edge of Graph(4 nodes, 2 edges")
