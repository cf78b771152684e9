"""How a run is shown: the same lines after ``heat embed``, ``heat links`` and in ``heat runs show``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from heat_neo4j.cli.output import facts, format_seconds, plural, print_json

if TYPE_CHECKING:
    from heat_neo4j.database.runs import RunRecord
    from heat_neo4j.linkpred.tuning import Choice
    from heat_neo4j.pipeline.embed import RunReport

__all__ = ["describe", "plan_lines", "show_run"]

STAGES = (
    "read", "compare", "choose", "similarity", "walks", "train", "local", "calibrate", "align", "check",
    "links", "write coordinates", "write links", "index new version", "settle",
    "build index",
)  # fmt: skip
COUNTS = {
    "relationships_to_outside": "relationships lead out of the projection: left out",
    "relationships_to_itself": "relationships join a node to itself: left out",
    "relationships_of_zero_weight": "relationships weigh 0: left out",
    "relationships_without_weight": "relationships have no weight: the default was taken",
    "relationships_without_time": "relationships have no time: they stay in training",
    "values_unknown_to_recipe": "values of attributes are unknown to the recipe: left out",
    "nodes_gone_while_reading": "nodes were deleted during the reading",
}


def show_run(report: RunReport, *, as_json: bool, verbose: int) -> None:
    """Print what a run has done, or would do."""
    if as_json:
        print_json(report.to_dict())
        return
    if report.run.status == "dry run":
        facts(plan_lines(report.run.plan))
    facts(describe(report.run, stages=bool(verbose)))
    if report.calibration is not None:
        facts([("Probability", _law(report.calibration.radius, report.calibration.auroc))])
    if report.score is not None:
        facts([("Score", _score(report.score.auroc, report.score.distance_auroc))])
    if report.choice is not None:
        facts(_choice(report.choice))
    facts(("Note", note) for note in report.notes)
    if report.run.status == "complete" and report.run.links_written:
        facts(("Try" if place == 0 else "", line) for place, line in enumerate(_query(report)))


def plan_lines(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a job would do: the mode and the reason, then a line for each stage."""
    yield "Plan", f"{plan['mode']}: {plan['reason']}"
    yield from (("", f"{stage['stage']}: {stage['does']}") for stage in plan["stages"])


def describe(run: RunRecord, *, stages: bool) -> Iterator[tuple[str, str]]:
    """Yield what is known of a run, as lines of a name and a text.

    Parameters
    ----------
    run : RunRecord
        The run.
    stages : bool
        Whether to list the seconds of every stage, not only their sum.
    """
    yield "Run", f"{run.run_id or 'none, nothing is written'} ({run.status}) of model {run.model!r}"
    graph = f"{plural(run.node_count, 'node')}, {plural(run.edge_count, 'edge')}"
    yield "Graph", f"{graph}, {plural(run.attribute_count, 'attribute column')}"
    for key, meaning in COUNTS.items():
        if run.counts.get(key):
            yield "", f"{run.counts[key]:,} {meaning}"
    if run.pair_count is not None and run.final_loss is not None:
        yield "Training", f"{run.pair_count:,} pairs, loss {run.final_loss:.4f}, seed {run.seed}"
    yield from _written(run)
    try:
        yield from _judged(run)
    except (KeyError, TypeError, ValueError):
        yield "Quality", "the run's node has been changed: what it says of its quality cannot be read"
    if run.damaged:
        yield "Damaged", f"properties of the run's node that cannot be read: {', '.join(run.damaged)}"
    if run.error is not None:
        yield ("Rejected" if run.status == "rejected" else "Error"), run.error
    if run.stage_seconds:
        yield "Time", format_seconds(sum(run.stage_seconds.values()))
        if stages:
            yield from (
                ("", f"{name}: {format_seconds(took)}") for name, took in _in_order(run.stage_seconds)
            )


def _written(run: RunRecord) -> Iterator[tuple[str, str]]:
    if run.status == "rejected":
        return
    verb = {"dry run": "Would write", "complete": "Published", "superseded": "Was"}.get(run.status, "Wrote")
    if "embedding" in run.parts:
        where = f"{run.embedding_property}, {run.radius_property}, {run.run_property}"
        what = f"{run.coordinates} coordinates" if run.coordinates else "coordinates"
        yield verb, f"{what} of {plural(run.nodes_written, 'node')} in {where}"
        if run.indexes:
            yield "", f"vector index: {', '.join(run.indexes)}"
    if "links" in run.parts:
        yield verb, f"{plural(run.links_written, 'predicted link')} of type {run.link_type}"
    for count, noun in ((run.nodes_missing, "node"), (run.links_missing, "predicted link")):
        if count:
            yield "", f"{plural(count, noun)} could not be written: nodes were deleted meanwhile"


def _judged(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield what a refresh decided, and what was measured of it."""
    quality, drift = run.quality, run.drift
    if not quality:
        return
    yield "Decision", f"{run.decision}: {run.reason}"
    if quality.get("auroc") is not None:
        last = "" if quality["last_auroc"] is None else f", last run {quality['last_auroc']:.3f}"
        edges = plural(quality["held_out_edges"], "held-out edge")
        yield (
            "Quality",
            f"AUROC {quality['auroc']:.3f} of {edges}{last}, degrees {quality['degree_auroc']:.3f}",
        )
    if drift:
        stayed = "" if drift["overlap"] is None else f", {drift['overlap']:.0%} of nearest nodes stayed"
        moved = f"{drift['moved']:,} of {plural(drift['nodes'], 'node')} moved"
        yield "Drift", f"{moved}, all by {drift['mean']:.3f} in the mean{stayed}"


def _in_order(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the stages in the order of the work; those not known here last."""
    place = {name: number for number, name in enumerate(STAGES)}
    return sorted(seconds.items(), key=lambda stage: place.get(stage[0], len(STAGES)))


def _law(radius: float, auroc: float) -> str:
    return f"one half at distance {radius:.2f}; held-out edges against non-edges: AUROC {auroc:.3f}"


def _score(auroc: float, distance_auroc: float) -> str:
    return (
        f"combined; held-out edges against non-edges: AUROC {auroc:.3f}, distance alone {distance_auroc:.3f}"
    )


def _choice(choice: Choice) -> Iterator[tuple[str, str]]:
    """Yield what was chosen and what it was chosen from."""
    chosen = ", ".join(f"{name} {value:g}" for name, value in choice.parameters.items())
    if not choice.trials:
        yield "Chosen", f"{chosen}: the graph has no attributes"
        return
    tried = plural(len(choice.trials), "training")
    yield "Chosen", f"{chosen}, after {tried} in {format_seconds(choice.seconds)}"
    if not choice.complete:
        yield "", "the time given did not suffice to try all"
    for trial in choice.trials:
        setting = ", ".join(f"{name} {value:g}" for name, value in trial.parameters.items())
        yield "", f"AUROC {trial.auroc:.4f}  {setting} ({plural(trial.walks_per_node, 'walk')} a node)"


def _query(report: RunReport) -> Iterator[str]:
    from heat_neo4j.database.statements import quote_identifier

    run = report.run
    strength = "probability" if report.calibration or report.score else "distance"
    yield f"MATCH (a)-[p:{quote_identifier(run.link_type or '')}]->(b)"
    yield f"RETURN a, b, p.{strength} ORDER BY p.rank LIMIT 10"
