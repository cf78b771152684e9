"""docker/: dashboard and alerts ask for metrics that there are, in expressions that Prometheus can read."""

import json
import re
from pathlib import Path

import promql_parser
import pytest
from ruamel.yaml import YAML

from heat_neo4j.worker.metrics import FAMILIES, OUTCOMES, STATES

DOCKER = Path(__file__).parents[2] / "docker"
DASHBOARD = json.loads((DOCKER / "grafana" / "heat.json").read_text(encoding="utf-8"))
ALERTS = YAML(typ="safe").load(DOCKER / "prometheus" / "alerts.yml")

# By the name of its samples: the labels of each metric.
LABELS = {
    family.name + {"counter": "_total", "info": "_info"}.get(family.kind, ""): {"model", *family.labels}
    for family in FAMILIES
}
LABELS["heat_worker_state"].add("heat_worker_state")
LABELS["heat_build_info"] |= {"version", "python"}
VALUES = {"heat_worker_state": STATES, "outcome": OUTCOMES, "run": ("published", "rejected")}


def rules():
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def expressions():
    """Return the expressions of the dashboard's panels."""
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def selectors(expression):
    """Return (metric, [(label, value)]) of all that an expression selects; it must be one."""
    found = []

    def visit(node):
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, [(each.name, each.value) for each in node.matchers.matchers]))
        return True

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


@pytest.mark.parametrize("expression", [*expressions(), *(rule["expr"] for rule in rules())])
def test_an_expression_is_one_and_selects_what_there_is(expression):
    selected = selectors(expression)
    assert selected
    for metric, matchers in selected:
        assert metric in LABELS
        assert {label for label, _ in matchers} <= LABELS[metric]
        for label, value in matchers:
            assert label not in VALUES or value in VALUES[label], (label, value)


def test_a_mistake_in_an_expression_is_seen():
    assert selectors("sum(rate(heat_tasks_total[5m]))") == [("heat_tasks_total", [])]
    with pytest.raises(ValueError, match="expected type matrix"):
        selectors("sum(rate(heat_tasks_total))")


def test_the_dashboard_shows_every_metric_there_is():
    assert {metric for each in expressions() for metric, _ in selectors(each)} == set(LABELS)
    assert all('model=~"$model"' in each for each in expressions())


def test_names_in_the_legends_are_labels_of_what_is_shown():
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert named <= {label for metric, _ in selectors(target["expr"]) for label in LABELS[metric]}


def test_the_dashboard_is_whole_and_names_no_data_source_of_ours():
    panels = DASHBOARD["panels"]
    assert {"title", "uid", "schemaVersion", "templating", "time"} <= DASHBOARD.keys()
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    covered = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(covered)) == len(covered)
    assert max(x for x, _ in covered) < 24
    sources = {panel["datasource"]["uid"] for panel in panels}
    assert sources == {target["datasource"]["uid"] for panel in panels for target in panel["targets"]}
    assert sources == {"${datasource}"}
    assert [each["name"] for each in DASHBOARD["templating"]["list"]] == ["datasource", "model"]
    (query,) = re.findall(r"label_values\((\w+), model\)", DASHBOARD["templating"]["list"][1]["definition"])
    assert query in LABELS


def test_an_alert_fires_when_refreshes_are_rejected_again_and_again():
    assert "heat_rejections_in_a_row >= 2" in [rule["expr"] for rule in rules()]


def test_alerts_have_the_form_of_prometheus_rules():
    assert ALERTS.keys() == {"groups"}
    for group in ALERTS["groups"]:
        assert group.keys() == {"name", "rules"}
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert (
            {"alert", "expr", "labels", "annotations"}
            <= rule.keys()
            <= {"alert", "expr", "for", "labels", "annotations"}
        )
        assert re.fullmatch(r"[A-Z]\w+", rule["alert"])
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "1m"))
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) <= {"summary", "description"}
        named = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        absent = promql_parser.parse(rule["expr"]).prettify().startswith("absent")
        assert named <= (set() if absent else {"model"})
