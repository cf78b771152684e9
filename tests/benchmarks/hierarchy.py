"""Hierarchies: how well they are embedded, which are found, and what training for one costs other links.

::

    python -m tests.benchmarks.hierarchy mammals nouns            # from direct relationships, by bars
    python -m tests.benchmarks.hierarchy find                     # each type of the shelf's graphs
    python -m tests.benchmarks.hierarchy cost [umls icd ...]      # MRR of held-out links, with and without

WordNet's nouns, and those under *mammal*, at 10 dimensions. Published for the nouns' closure (Nickel and
Kiela 2017): mean rank 4.02 and MAP .851. ``python -m tests.benchmarks.shelf fetch`` gets the data. The exit
code of ``find`` is 1 if a type is taken for a hierarchy, or not, other than `HIERARCHIES` lists.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import process_time

from heat_neo4j import HEAT
from heat_neo4j.embedding.hierarchical_types import find_hierarchies, inspect_hierarchy
from heat_neo4j.evaluation import evaluate_hierarchy
from heat_neo4j.evaluation.link_tasks import HEAT_ROW
from tests.benchmarks.shelf.__main__ import OFFICIAL, SEEDED, load
from tests.benchmarks.shelf.dataset import MissingDataError
from tests.benchmarks.shelf.figures import evaluate
from tests.benchmarks.shelf.methods import by_distance, by_link_score
from tests.benchmarks.shelf.wordnet import HYPERNYM, hypernyms

TOPS = {"mammals": "mammal", "nouns": None}
BARS = {
    "mammals": {"mean_rank": 1.35, "mean_average_precision": 0.93, "order_accuracy": 0.98},
    "nouns": {
        "mean_rank": 8.0, "mean_average_precision": 0.75, "order_accuracy": 0.98, "precision_up": 0.75,
    },
}  # fmt: skip
HIERARCHIES = {
    "icd": {"PART_OF"},
    "hpo": {"IS_A"},
    "classes": {"EXTENDS"},
    "wordnet": {HYPERNYM},
    "umls": {"isa"},
    "wn18rr": {"_hypernym", "_member_meronym", "_has_part"},
}
"""Types to be found, in the training part of each set; no others are."""
COST = ("umls", "animal-terms", "icd")


def main() -> int:
    """Print the table of each set, and how its figures compare with the bars; return the exit code."""
    command, *sets = sys.argv[1:] or TOPS
    if command == "find":
        return find(
            sets or [name for name in (*SEEDED, *OFFICIAL) if not name.endswith(("-terms", "-glosses"))]
        )
    if command == "cost":
        return cost(sets or COST)
    return reconstruct([command, *sets])


def find(sets: Sequence[str]) -> int:
    """Print each relationship type of some sets, with the evidence."""
    wrong = 0
    heads = ("source:target", "one", "deep", "skipping", "cyclic", "levels", "CPU ms")
    print(f"{'':44}" + "".join(f"{head:>14}" for head in heads))
    for name in sets:
        try:
            graph = load(name, 0).graph
        except MissingDataError as error:
            print(f"{name}: {error}")
            continue
        for kind in graph.relationships.types if graph.relationships is not None else ():
            start = process_time()
            seen = inspect_hierarchy(graph, kind)
            found, levels = seen.is_clear, seen.levels
            milliseconds = 1e3 * (process_time() - start)
            is_wrong = found != (kind in HIERARCHIES.get(name, ()))
            wrong += is_wrong
            print(
                f"{name:13}{kind[:23]:24}{'found' if found else '-':7}"
                f"{seen.n_specific / seen.n_general:14.1f}{seen.n_with_one / seen.n_specific:14.2f}"
                f"{seen.deep:14.2f}{seen.transitive:14.3f}{seen.n_cyclic / seen.n_relationships:14.3f}"
                f"{levels:14}{milliseconds:14.0f}{'  WRONG' if is_wrong else ''}"
            )
    return int(wrong > 0)


def cost(sets: Sequence[str]) -> int:
    """Print the MRR of held-out links without a hierarchy, and with the largest that is found."""
    for name in sets:
        data = load(name, 0)
        largest = next((each.type for each in find_hierarchies(data.graph)), None)
        if largest is None:
            print(f"{name}: no hierarchy is found")
            continue
        for hierarchy in (None, largest):
            model = HEAT(hierarchy=hierarchy, random_state=0).fit(data.graph)
            for way, fitted in (
                ("distance", by_distance(model)),
                ("link score", by_link_score(model, data.graph)),
            ):
                for pattern, figures in evaluate(data, fitted).items():
                    print(
                        f"{name:13}{hierarchy or 'none':12}{way:12}{pattern[:40]:42}"
                        f"{figures.links:6} links, MRR {figures.mrr:.4f}, AUROC {figures.auroc:.4f}",
                        flush=True,
                    )
    return 0


def reconstruct(sets: Sequence[str]) -> int:
    """Print how well sets are reconstructed from their direct relationships."""
    for name in sets:
        found = evaluate_hierarchy(hypernyms(TOPS[name]), HEAT(hierarchy=HYPERNYM), on_progress=True)
        print(name, *found.notes, sep="\n  ")
        for row in found.rows:
            figures = "  ".join(f"{key} {figure.mean:.4f}" for key, figure in row.figures.items())
            print(f"  {row.method:<18}{figures}  {row.seconds[0]:.1f} s")
        ours = found.row(HEAT_ROW).figures
        for key, bar in BARS[name].items():
            held = ours[key].mean <= bar if key == "mean_rank" else ours[key].mean >= bar
            print(f"  {key} {ours[key].mean:.4f}, bar {bar}: {'held' if held else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
