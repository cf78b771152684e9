"""The lines that a run and its graph are shown by: numbers with words that agree, and no page of patterns."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from heat_neo4j.cli.commands import runs
from heat_neo4j.cli.commands.load import ODDITIES
from heat_neo4j.cli.report import COUNTS, counted, frequent, pattern_lines, show_run, untyped_note
from heat_neo4j.database.runs import Bookkeeping, RunRecord
from heat_neo4j.pipeline.driver import LinkExample, RunReport


@pytest.mark.parametrize("meanings", [COUNTS, ODDITIES], ids=["read", "load"])
def test_one_of_a_kind_is_counted_in_the_singular(meanings):
    for name, (noun, text) in meanings.items():
        assert list(counted({name: 1}, meanings)) == [("", f"1 {noun} {text}")]
        assert list(counted({name: 2000}, meanings)) == [("", f"2,000 {noun}s {text}")]
        assert list(counted({name: 0}, meanings)) == []


def test_many_patterns_are_the_most_frequent_and_one_line_for_the_others():
    few = {f"A-T{i}->B": i for i in range(1, 6)}
    assert list(frequent(few)) == [f"A-T{i}->B: {i}" for i in range(5, 0, -1)]
    lines = list(frequent({f"A-T{i}->B": i for i in range(1, 1013)}))
    assert lines[:2] == ["A-T1012->B: 1,012", "A-T1011->B: 1,011"]
    assert lines[20:] == ["992 other patterns: 492,528 pairs together (--json lists all)"]


@pytest.mark.parametrize(
    ("status", "links", "count"),
    [("complete", 7, 1), ("complete", 0, 0), ("dry run", 7, 0), ("rejected", 7, 0)],
)
def test_published_links_come_with_a_warning_about_patterns_without_a_type(status, links, count, capsys):
    run = RunRecord(
        "r", "films", ("links",), status, link_type="FILMS_PREDICTED", links_written=links,
        parameters={"links": {"predicted": {}}},
    )  # fmt: skip
    run = replace(run, plan={"mode": "links", "reason": "asked for", "stages": []})
    show_run(RunReport(run))
    printed = capsys.readouterr().out
    assert printed.count(untyped_note("FILMS_PREDICTED")) == count
    assert "(a)--(b), match FILMS_PREDICTED relationships" in untyped_note("FILMS_PREDICTED")


def test_the_newest_run_is_shown_unless_another_is_named(monkeypatch):
    def shown(records, *named, model=()):
        store = SimpleNamespace(bookkeeping=lambda: Bookkeeping((), tuple(records)))
        monkeypatch.setattr(runs, "open_store", lambda _: nullcontext(store))
        return CliRunner().invoke(heat, ["runs", *model, "show", *named])

    newest_first = [RunRecord(name, name[0], (), "incomplete") for name in ("new", "old", "oldest")]
    assert shown(newest_first).stdout == shown(newest_first, "new").stdout
    assert shown(newest_first).stdout.startswith("Run           new (incomplete)")
    assert shown(newest_first, "old").stdout.startswith("Run           old (incomplete)")
    assert "no run 'nobody' in this database" in shown(newest_first, "nobody").stderr
    assert shown(newest_first, model=("--model", "o")).stdout.startswith("Run           old (incomplete)")
    assert "no run 'new' of model 'o': `heat" in shown(newest_first, "new", model=("--model", "o")).stderr
    assert "no model 'm' in this database" in shown(newest_first, model=("--model", "m")).stderr
    assert shown([]).stderr == "heat: there is no run in this database: `heat embed` makes the first\n"


def test_the_warning_shows_no_control_characters():
    assert "\x1b" not in untyped_note("A\x1b[2J")


def test_figures_stand_beside_those_baselines_that_were_measured():
    figures = {
        "n_links": 12, "mrr": 0.5, "hits_at_10": 0.75, "precision_at_10": 0.1, "popularity_mrr": 0.25,
        "baseline": "paths of \x1b three", "baseline_mrr": 0.375, "direction_accuracy": None,
        "precision_at_written": 0.05, "recall": 0.97,
    }  # fmt: skip
    four_times = figures | {"n_links": 4_321, "times": 4}
    of_distance = figures | dict.fromkeys(
        ("popularity_mrr", "baseline", "baseline_mrr", "precision_at_written", "recall")
    )
    popular = figures | {"baseline": "popularity", "baseline_mrr": 0.25}
    few = dict.fromkeys(figures) | {"n_links": 3, "direction_accuracy": 0.75}
    run = RunRecord(
        "r", "films", ("links",), "complete",
        parameters={
            "links": {
                "predicted": {
                    "A-R->B": 3, "A-S->B": 2, "A-T->B": 1, "A-U->B": 0, "A-V->B": 0, "A-W->B": 5
                }
            },
            "link_score": {
                "figures": {
                    "A-R->B": figures, "A-S->B": of_distance, "A-T->B": popular, "A-U->B": few,
                    "A-W->B": four_times,
                }
            },
        },
    )  # fmt: skip
    short = ", Hits@10 0.75, precision at 10 per source 0.10"
    after = f"{short}, P@written 0.05, candidates' recall 0.97"
    assert list(pattern_lines(run)) == [
        f"A-R->B: 3; 12 held out: MRR 0.50 (popularity 0.25, paths of \\x1b three 0.38){after}",
        f"A-S->B: 2; 12 held out: MRR 0.50{short}",
        f"A-T->B: 1; 12 held out: MRR 0.50 (popularity 0.25){after}",
        "A-U->B: 0; 3 held out, too few to measure; 75% of directions right",
        "A-V->B: 0; none held out, too few to measure",
        f"A-W->B: 5; 4 times 1,080 held out: MRR 0.50 (popularity 0.25, paths of \\x1b three 0.38){after}",
    ]


def test_the_likeliest_links_of_each_pattern_follow_its_line():
    run = RunRecord(
        "r", "films", ("links",), "complete",
        parameters={"links": {"predicted": {f"A-T{i}->B": i for i in range(17)}}, "link_score": {}},
    )  # fmt: skip
    examples = {f"A-T{i}->B": [LinkExample("a", f"T{i}", "b\x1b[2J", 0.004, 1.0)] for i in range(1, 17)}
    examples["A-T0->B"] = []
    examples["A-T8->B"] *= 2
    assert sum(line.startswith("  a") for line in pattern_lines(run, examples)) == 16
    examples = {name: examples[name] for name in ("A-T0->B", "A-T1->B", "A-T8->B")}
    examples["A-T8->B"][1] = LinkExample("c" * 99, "T8", "d", None, 0.5)
    lines = list(pattern_lines(run, examples))
    place = lines.index("A-T8->B: 8")
    assert lines[place + 1] == "  a -T8-> b\\x1b[2J: probability 0.004"
    assert lines[place + 2] == f"  {'c' * 30}…{'c' * 29} -T8-> d: distance 0.500"
    assert sum(line.startswith("  ") for line in lines) == 3
    assert list(pattern_lines(run)) == [line for line in lines if not line.startswith("  ")]
    report = RunReport(run, examples=examples).to_dict()
    assert report["examples"]["A-T8->B"][1] == {
        "source": "c" * 99, "type": "T8", "target": "d", "probability": None, "distance": 0.5,
    }  # fmt: skip


def test_attributes_that_are_not_used_come_with_the_interval_that_decides(capsys):
    measured = [
        {"name": "brand", "auroc": 0.512, "interval": [0.503, 0.521], "used": True},
        {"name": "price", "auroc": 0.514, "interval": [0.484, 0.544], "used": False},
    ]
    never = {"name": "tax", "auroc": 0.5, "interval": [0.0, 1.0], "used": False, "pairs": 0}
    run = RunRecord("r", "shop", ("embedding",), "complete")
    interval = "no better than chance (99% intervals): price 0.51 (0.48-0.54)"
    for alpha, attributes, lines in (
        (0.2, measured, ["by brand 0.51", f"not used, as {interval}"]),
        (0.05, measured[1:], [f"alpha 0.05: random jumps join the pieces of the graph; {interval}"]),
        (0.0, measured[1:], [f"alpha 0: not used, as {interval}"]),
        (0.0, [measured[1], never], [f"not used, as {interval}, tax (hardly any linked nodes to compare)"]),
    ):
        show_run(RunReport(replace(run, training={"alpha": alpha, "attributes": attributes})))
        printed = capsys.readouterr().out.splitlines()
        place = next(number for number, line in enumerate(printed) if line.startswith("Attributes"))
        for line, expected in zip(printed[place:], lines, strict=False):
            assert line.endswith(expected)
