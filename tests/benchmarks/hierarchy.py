"""`python -m tests.benchmarks.hierarchy mammals nouns`: a hierarchy from its direct relationships, by bars.

WordNet's nouns, and those under *mammal*, at 10 dimensions. Published for the nouns' closure (Nickel and
Kiela 2017): mean rank 4.02 and MAP .851. ``python -m tests.benchmarks.shelf fetch`` gets the data.
"""

from __future__ import annotations

import sys

from heat_neo4j import HEAT
from heat_neo4j.evaluation import evaluate_hierarchy
from heat_neo4j.evaluation.methods import HEAT_ROW
from tests.benchmarks.shelf.wordnet import HYPERNYM, hypernyms

TOPS = {"mammals": "mammal", "nouns": None}
BARS = {
    "mammals": {"mean_rank": 1.35, "mean_average_precision": 0.93, "order_accuracy": 0.98},
    "nouns": {
        "mean_rank": 8.0, "mean_average_precision": 0.75, "order_accuracy": 0.98, "precision_up": 0.75,
    },
}  # fmt: skip


def main() -> None:
    """Print the table of each set, and how its figures compare with the bars."""
    for name in sys.argv[1:] or TOPS:
        found = evaluate_hierarchy(hypernyms(TOPS[name]), HEAT(hierarchy=HYPERNYM), on_progress=True)
        print(name, *found.notes, sep="\n  ")
        for row in found.rows:
            figures = "  ".join(f"{key} {figure.mean:.4f}" for key, figure in row.figures.items())
            print(f"  {row.method:<18}{figures}  {row.seconds[0]:.1f} s")
        ours = found.row(HEAT_ROW).figures
        for key, bar in BARS[name].items():
            held = ours[key].mean <= bar if key == "mean_rank" else ours[key].mean >= bar
            print(f"  {key} {ours[key].mean:.4f}, bar {bar}: {'held' if held else 'MISSED'}")


if __name__ == "__main__":
    main()
