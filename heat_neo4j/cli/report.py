"""How a run is shown: the same lines after ``heat embed``, ``heat links`` and in ``heat runs show``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.display import display_name, display_text, plural
from heat_neo4j.cli.output import (
    facts,
    format_probability,
    format_seconds,
    headed,
    log_of_machines,
    noted,
    print_cypher,
    verbosity,
)

if TYPE_CHECKING:
    from heat_neo4j.database.runs import RunRecord
    from heat_neo4j.pipeline.driver import LinkExample, RunReport

_LONGEST = 60  # characters of a pattern that are shown
_LONGEST_EVIDENCE = 250
_MOST_PATTERNS = 20
_SHOWN = 6  # attributes
_EXAMPLES = 15  # likeliest links that are shown, shared by all patterns


NO_EXAMPLES: Mapping[str, Sequence[LinkExample]] = {}
STAGES = (
    "read", "compare", "similarity", "coarse", "walks", "train", "local", "calibrate", "align", "check",
    "links", "write coordinates", "write links", "write values", "index new version", "settle",
    "build index",
)  # fmt: skip
COUNTS = {
    "nodes_without_key": ("node", "without a label that has a key: last, in order of element ids"),
    "relationships_to_outside": ("relationship", "to a node outside the projection: left out"),
    "relationships_to_itself": ("relationship", "from a node to itself: left out"),
    "relationships_of_zero_weight": ("relationship", "of weight 0: left out"),
    "relationships_without_weight": ("relationship", "without a weight: --default-weight, 1 by default"),
    "relationships_without_time": ("relationship", "without a time: kept in training"),
    "values_unknown_to_recipe": ("attribute value", "unknown to the recipe: left out"),
    "nodes_gone_while_reading": ("node", "deleted during the reading"),
}
"""What is counted while a graph is read: the noun, and the text after it."""


def log_run(run: RunRecord) -> None:
    """Log the outcome of a run as JSON."""
    outcome = "published" if run.status == "complete" else run.status
    fields = {"event": "finished", "outcome": outcome, "run": run.run_id or None}
    log_of_machines(f"{outcome}: {run.kind} of model {run.model!r}", **fields)


def show_run(report: RunReport, _: object = None) -> None:
    """Print what a run has done, or would do."""
    run = report.run
    if run.status == "dry run":
        facts(plan_lines(run.plan))
    facts(describe(run, stages=bool(verbosity()), examples=report.examples))
    facts(headed("Attributes", _alpha(run.training)))
    facts(noted(report.notes))
    if run.status == "complete" and run.links_written:
        facts([("Note", untyped_note(run.link_type or ""))])
        from heat_neo4j.database.statements import identifier_to_copy

        with suppress(ValueError):  # a type that cannot be printed as it is
            pattern = f"MATCH (a)-[p:{identifier_to_copy(run.link_type or '')}]->(b)"
            strength = "distance" if report.score is None else "probability"
            returned = f"RETURN a, p.type, b, p.{strength} ORDER BY p.rank LIMIT 10"
            print_cypher(f"{'Try':<14}{pattern}\n{'':<14}{returned}")


def untyped_note(link_type: str) -> str:
    """Return the warning that patterns without a type match predicted links."""
    name = display_text(link_type, _LONGEST)
    return (
        f"patterns without a type, such as (a)--(b), match {name} relationships, too: name the types you want"
    )


def plan_lines(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a job would do: the mode and the reason, then a line for each stage."""
    yield "Plan", f"{plan['mode']}: {plan['reason']}"
    yield from (("", f"{stage['stage']}: {stage['does']}") for stage in plan["stages"])


def describe(
    run: RunRecord, *, stages: bool, examples: Mapping[str, Sequence[LinkExample]] = NO_EXAMPLES
) -> Iterator[tuple[str, str]]:
    """Yield the lines of a run; with `stages`, the seconds of each and not only their sum."""
    yield "Run", f"{run.run_id or 'none, nothing is written'} ({run.status}) of model {run.model!r}"
    graph = f"{plural(run.node_count, 'node')}, {plural(run.edge_count, 'edge')}"
    yield "Graph", f"{graph}, {plural(run.attribute_count, 'attribute column')}"
    yield from counted(run.counts)
    if run.pair_count is not None and run.final_loss is not None:
        yield "Training", f"{run.pair_count:,} pairs, loss {run.final_loss:.4f}, seed {run.seed}"
    with suppress(AttributeError, IndexError, KeyError, TypeError, ValueError):  # the node has been changed
        yield from _hierarchy(run.training)
    yield from _written(run, examples)
    try:
        yield from _judged(run)
    except (KeyError, TypeError, ValueError):
        yield "Quality", "the run's node was changed: its quality cannot be read"
    if run.damaged:
        yield "Damaged", f"properties of the run's node that cannot be read: {', '.join(run.damaged)}"
    if run.error is not None:
        yield ("Rejected" if run.status == "rejected" else "Error"), run.error
    if run.stage_seconds:
        yield "Time", format_seconds(sum(run.stage_seconds.values()))
        if stages:
            place = {name: number for number, name in enumerate(STAGES)}  # of the work; others come last
            for name in sorted(run.stage_seconds, key=lambda stage: place.get(stage, len(STAGES))):
                yield "", f"{name}: {format_seconds(run.stage_seconds[name])}"


def counted(
    counts: Mapping[str, int], meanings: Mapping[str, tuple[str, str]] = COUNTS
) -> Iterator[tuple[str, str]]:
    """Yield a line for each count that is not 0."""
    for name, (noun, text) in meanings.items():
        if count := counts.get(name):
            yield "", f"{plural(count, noun)} {text}"


def _written(run: RunRecord, examples: Mapping[str, Sequence[LinkExample]]) -> Iterator[tuple[str, str]]:
    if run.status == "rejected":
        return
    verb = {"dry run": "Would write", "complete": "Published", "superseded": "Was"}.get(run.status, "Wrote")
    if "embedding" in run.parts:
        where = f"{run.embedding_property}, {run.radius_property}, {run.run_property}"
        what = f"{run.coordinates} coordinates" if run.coordinates else "coordinates"
        yield verb, f"{what} of {plural(run.nodes_written, 'node')} in {where}"
        if run.indexes:
            yield "", f"vector index: {', '.join(run.indexes)}"
    if "values" in run.parts:
        yield verb, f"values of {plural(run.nodes_written, 'node')} in {_few(run.names.own)}"
    if "links" in run.parts:
        yield verb, f"{plural(run.links_written, 'predicted link')} of type {run.link_type}"
        yield from (("", line) for line in pattern_lines(run, examples))
    for count, noun in ((run.nodes_missing, "node"), (run.links_missing, "predicted link")):
        if count:
            lost = "nodes were deleted or replaced after the graph was read"
            yield "", f"{plural(count, noun)} not written: {lost}"


def frequent(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield lines for the most frequent patterns, and one for all others."""
    in_order = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    yield from (f"{display_text(name, 80)}: {count:,}" for name, count in in_order[:_MOST_PATTERNS])
    if rest := in_order[_MOST_PATTERNS:]:
        pairs = plural(sum(count for _, count in rest), "pair")
        yield f"{plural(len(rest), 'other pattern')}: {pairs} together (--json lists all)"


def pattern_lines(
    run: RunRecord, examples: Mapping[str, Sequence[LinkExample]] = NO_EXAMPLES
) -> Iterator[str]:
    """Yield how many links of each pattern were predicted, how well held-out ones rank, and examples."""
    try:
        counts = run.parameters["links"]["predicted"]
        figures = run.parameters.get("link_score", {}).get("figures", {})
        shown = sorted(counts, key=lambda pattern: -counts[pattern])[:_MOST_PATTERNS]
        each = max(_EXAMPLES // max(sum(map(bool, examples.values())), 1), 1)
        for pattern, count in counts.items():
            if pattern not in shown:
                continue
            line = f"{display_text(pattern, _LONGEST)}: {count:,}"
            measured = figures.get(pattern) or {"mrr": None, "n_links": 0}
            if measured["mrr"] is not None:
                times = measured.get("times", 1)
                often = f"{times} times " if times > 1 else ""
                line += f"; {often}{measured['n_links'] / times:,.0f} held out: MRR {measured['mrr']:.2f}"
                line += _beside(measured)
                line += f", Hits@10 {measured['hits_at_10']:.2f}"
                line += f", precision at 10 per source {measured['precision_at_10']:.2f}"
                if measured.get("precision_at_written") is not None:
                    line += f", P@written {measured['precision_at_written']:.2f}"
                if measured.get("recall") is not None:
                    line += f", candidates' recall {measured['recall']:.2f}"
            elif figures:
                line += f"; {measured['n_links'] or 'none'} held out, too few to measure"
            if measured.get("direction_accuracy") is not None:
                line += f"; {measured['direction_accuracy']:.0%} of directions right"
            yield line
            yield from map(_example, examples.get(pattern, ())[:each])
        if len(counts) > len(shown):
            rest = sum(counts.values()) - sum(counts[pattern] for pattern in shown)
            yield f"{plural(len(counts) - len(shown), 'other pattern')}: {rest:,} together (--json lists all)"
    except (AttributeError, KeyError, TypeError, ValueError):
        yield "the run's node was changed: its patterns cannot be read"


def _example(link: LinkExample) -> str:
    source, target = display_name(link.source), display_name(link.target)
    kind = display_text(link.type, _LONGEST)
    strength = f"distance {link.distance:.3f}"
    if link.probability is not None:
        strength = f"probability {format_probability(link.probability)}"
    return f"  {source} -{kind}-> {target}: {strength}"


def _beside(measured: Mapping[str, Any]) -> str:
    """Return the MRR of popularity and of the best simple method, where there are any."""
    others = {"popularity": measured["popularity_mrr"], measured["baseline"]: measured["baseline_mrr"]}
    known = [
        f"{display_text(str(name), _LONGEST)} {mrr:.2f}" for name, mrr in others.items() if mrr is not None
    ]
    return f" ({', '.join(known)})" if known else ""


def _judged(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield what a refresh decided, and what was measured of it."""
    quality, drift = run.quality, run.drift
    if not quality:
        return
    if "values" in run.parts:
        nodes, error = plural(quality["nodes"], "held-out node"), quality["calibration_error"]
        yield "Quality", f"{quality['f1_micro']:.0%} of {nodes} right, probabilities off by {error:.3f}"
        return
    yield "Decision", f"{run.decision}: {run.reason}"
    if quality.get("auroc") is not None:
        last = "" if quality["last_auroc"] is None else f", last run {quality['last_auroc']:.3f}"
        edges = plural(quality["held_out_edges"], "held-out edge")
        degrees = f"degrees {quality['degree_auroc']:.3f}"
        yield "Quality", f"AUROC {quality['auroc']:.3f} of {edges}{last}, {degrees}"
    if drift:
        stayed = "" if drift["overlap"] is None else f", {drift['overlap']:.0%} of nearest nodes stayed"
        moved = f"{drift['moved']:,} of {plural(drift['nodes'], 'node')} moved"
        yield "Drift", f"{moved}, all by {drift['mean']:.3f} on average{stayed}"


def _few(names: Sequence[str]) -> str:
    more = [] if len(names) <= _SHOWN else [f"and {len(names) - _SHOWN:,} more"]
    return ", ".join([*names[:_SHOWN], *more])


def likely_hierarchy(name: str, words: str) -> tuple[str, str]:
    """Return the line that names a type that looks like a hierarchy, with the evidence."""
    name, words = (display_text(text, _LONGEST_EVIDENCE) for text in (name, words))
    advice = f"--hierarchy {quote(name)} places general nodes nearer the centre"
    return "Hierarchy", f"{name} looks like one ({words}): {advice}"


def _hierarchy(training: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the hierarchy that radii follow; if none, the types that look like one."""
    if "hierarchy" in training:
        yield "Hierarchy", display_text(training["hierarchy"]["evidence"], _LONGEST_EVIDENCE)
    elif found := training.get("hierarchies_found"):
        yield likely_hierarchy(*found[0])
    elif "hierarchies_found" in training:
        yield "Hierarchy", "none found: radii mostly reflect the number of relationships"


def _alpha(training: Mapping[str, Any]) -> Iterator[str]:
    """Yield how often steps follow attributes, and which of these are informative."""
    measured = training.get("attributes", ())
    if not measured:
        return
    share = f"alpha {training['alpha']:g}"
    used = [f"{each['name']} {each['auroc']:.2f}" for each in measured if each["used"]]
    others = [
        f"{each['name']} (hardly any linked nodes to compare)"
        if each.get("pairs", 2) < 2
        else f"{each['name']} {each['auroc']:.2f} ({'-'.join(f'{end:.2f}' for end in each['interval'])})"
        for each in measured
        if not each["used"]
    ]
    chance = f"no better than chance (99% intervals): {_few(others)}"
    if used:
        yield f"{share}: AUROC of linked nodes against others by {_few(used)}"
        if others:
            yield f"not used, as {chance}"
    elif training["alpha"] > 0.0:
        yield f"{share}: random jumps join the pieces of the graph; {chance}"
    else:
        yield f"{share}: not used, as {chance}"
