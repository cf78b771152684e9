"""Classes that a published model is asked for: what is read, noted and printed, without a server."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from heat_neo4j import Graph
from heat_neo4j.classes.views import COORDINATES
from heat_neo4j.cli.commands import classify as command
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import ProjectionError
from heat_neo4j.graph import Provenance
from heat_neo4j.pipeline import class_questions
from heat_neo4j.pipeline.class_questions import Classification, classify
from heat_neo4j.pipeline.published_model import PublishedModel
from tests.classes.test_classes import KINDS, N, communities, hidden, points, predict_classes


def ask(monkeypatch: Any, values: list[Any], *, attribute: str = "words") -> Classification:
    """Return what a model is found to predict, whose only attribute has that name."""
    graph, _ = communities()
    recipe = [{"property": attribute, "kind": "category", "n_columns": 9}]
    graph = Graph(
        graph.adjacency,
        graph.attributes,
        node_ids=[f"4:x:{row}" for row in range(N)],
        provenance=Provenance(attribute_recipe=recipe),
    )
    run = RunRecord("r", "heat", ("embedding",), "complete", seed=3, projection={"key": "title"})
    published = PublishedModel(run, graph, points(graph), ("2 nodes are newer",))
    monkeypatch.setattr(class_questions, "read_published", lambda *_, **__: published)
    stored = {"kind": values, "title": [f"paper {row}" for row in range(N)]}
    store: Any = SimpleNamespace(read_property=lambda graph, name: stored[name])
    return classify(store, "kind")


def test_the_likeliest_come_first_with_element_ids_and_names(monkeypatch: Any) -> None:
    values = hidden(communities()[1])
    found = ask(monkeypatch, values)
    data = found.to_dict()
    assert (data["model"], data["run"], data["property"]) == ("heat", "r", "kind")
    rows = [int(each["element_id"].removeprefix("4:x:")) for each in data["predicted"]]
    assert sorted(rows) == [row for row, value in enumerate(values) if value is None]
    assert [each["node"] for each in data["predicted"]] == [f"paper {row}" for row in rows]
    chances = [each["probability"] for each in data["predicted"]]
    assert chances == sorted(chances, reverse=True)
    assert sum(each["log_odds"] for each in found.explain(f"paper {rows[3]}")) > 0.0
    assert COORDINATES in data["weights"]
    assert data["notes"] == ["2 nodes are newer"]
    assert next(iter(found.to_frame("pandas"))) == "element_id"


def test_a_number_that_is_none_is_a_missing_value(monkeypatch: Any) -> None:
    values = hidden(communities()[1])
    told = ask(monkeypatch, [float("nan") if value is None else value for value in values]).to_dict()
    assert told["predicted"] == ask(monkeypatch, values).to_dict()["predicted"]


def test_coordinates_that_reflect_the_property_are_not_used(monkeypatch: Any) -> None:
    found = ask(monkeypatch, hidden(communities()[1]), attribute="kind")
    assert COORDINATES not in found.to_dict()["weights"]
    assert found.notes[-1].startswith("kind is an attribute of the model")


def test_what_cannot_be_learned_is_an_error_of_the_projection(monkeypatch: Any) -> None:
    with pytest.raises(
        ProjectionError, match="kind cannot be predicted: all nodes with a value have the same"
    ):
        ask(monkeypatch, ["red"] * N)


@pytest.mark.parametrize("numbers", [False, True])
def test_a_property_that_no_node_lacks_is_measured(monkeypatch: Any, capsys: Any, numbers: bool) -> None:
    values: list[Any] = communities()[1]
    if numbers:
        values = [1900 + 40 * KINDS.index(kind) + row % 9 for row, kind in enumerate(values)]
    found = ask(monkeypatch, values)
    data = found.to_dict()
    assert data["predicted"] == []
    assert data["figures"]["nodes"] == N
    command.show(found, {"explain": None})
    lines = capsys.readouterr().out.splitlines()
    assert "Predicted     none: no node lacks kind; nothing is written" in lines
    assert not any(line.startswith("NODE") for line in lines)


def test_hostile_values_are_printed_on_one_line(monkeypatch: Any, capsys: Any) -> None:
    names = {"red": "\x1b[2Jred\n", "green": "green", "blue": "blue"}
    found = ask(monkeypatch, [names.get(value) for value in hidden(communities()[1])])
    command.show(found, {"explain": None})
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert f"Predicted     {len(found)} nodes without kind; nothing is written\n" in printed
    assert printed.endswith(f"{len(found) - 10} more: --json prints all\n")


def test_weights_of_nothing_are_no_blank(monkeypatch: Any, capsys: Any) -> None:
    found = ask(monkeypatch, hidden(communities()[1]))
    nothing = replace(found.found, weights=dict.fromkeys(found.found.weights, 0.0))
    command.show(replace(found, found=nothing), {"explain": None})
    assert "Weights       none: too little is known of most nodes" in capsys.readouterr().out


def test_order_keeps_what_belongs_together() -> None:
    graph, truth = communities()
    found = predict_classes(graph, None, hidden(truth))
    ordered = found.surest_first(graph.names)
    place = int(np.flatnonzero(found.rows == ordered.rows[5])[0])
    assert found.chosen[place] == ordered.chosen[5]
    np.testing.assert_array_equal(found.evidence[place], ordered.evidence[5])
    assert ordered.node[5] == found.node[place]


def test_numbers_are_printed_with_intervals_and_why(monkeypatch: Any, capsys: Any) -> None:
    years = [1900 + 40 * KINDS.index(kind) + row % 9 for row, kind in enumerate(communities()[1])]
    found = ask(monkeypatch, [None if row % 4 == 0 else year for row, year in enumerate(years)])
    command.show(found, {"explain": None})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Learned from  180 nodes, 27 numbers of kind"
    assert re.fullmatch(
        r"Off by        \d\.\d+ on average of held-out nodes \(always the median \S+, neighbours \S+\)",
        lines[1],
    )
    assert re.fullmatch(r"Order         rank correlation 0\.\d\d with the true numbers", lines[2])
    (title,) = (place for place, line in enumerate(lines) if line.startswith("NODE"))
    assert lines[title].split() == ["NODE", "KIND", "FROM", "TO", "(80%", "SURE)"]
    widths = [
        int(high) - int(low) for low, high in (line.split()[-2:] for line in lines[title + 1 : title + 11])
    ]
    assert widths == sorted(widths)
    node = found.to_dict()["predicted"][0]
    command.show(found, {"explain": node["node"]})
    lines = capsys.readouterr().out.splitlines()
    assert (
        f"{node['node']}{' ' * (14 - len(node['node']))}{node['value']}, from {node['low']} to {node['high']}"
        in lines
    )
    (title,) = (place for place, line in enumerate(lines) if line.startswith("WEIGHT"))
    reasons = [(float(weight), " ".join(by)) for weight, _, *by in map(str.split, lines[title + 1 :])]
    assert reasons == [(round(why["weight"], 2), why["view"]) for why in found.explain(node["node"])]


def test_classes_no_better_than_the_most_frequent_are_noted(monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    found = ask(monkeypatch, rng.choice(["a", "b", "c", None], size=N, p=[0.7, 0.1, 0.1, 0.1]).tolist())
    assert found.notes[-1] == "on held-out nodes it is no better than always the most frequent value"


def test_why_a_node_got_its_class_is_printed(monkeypatch: Any, capsys: Any) -> None:
    found = ask(monkeypatch, hidden(communities()[1]))
    node = found.to_dict()["predicted"][2]
    command.show(found, {"explain": node["node"]})
    lines = capsys.readouterr().out.splitlines()
    (title,) = (place for place, line in enumerate(lines) if line.startswith("LOG ODDS"))
    assert lines[title].split()[2:] == ["FOR", node["class"], "AGAINST", node["second"]]
    odds = [float(line.split()[0]) for line in lines[title + 1 :]]
    assert odds[-1] == pytest.approx(sum(odds[:-1]), abs=0.001 * len(odds))
    assert odds[-1] == pytest.approx(np.log(node["probability"] / node["second_probability"]), abs=0.001)
    with pytest.raises(
        ProjectionError,
        match=r"no class was predicted for a node named 'paper x', only for .* one: did you mean 'paper",
    ):
        found.explain("paper x")
