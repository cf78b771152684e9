"""docs/figures.md and README.md agree with each other, and with the data beside them."""

import re

import pytest

from tests.benchmarks.__main__ import read_records
from tests.benchmarks.results.plan import CLASSIFIERS
from tests.benchmarks.results.tables import _f1_means, stored_tables
from tests.docs.pages import PAGES

FIGURES, README = PAGES["docs/figures.md"], PAGES["README.md"]
RECORDS = read_records()
TITLES = {
    "cora_ml": "Cora_ML", "citeseer": "Citeseer", "ppi": "PPI", "gds-cora": "Cora (GDS)",
    "stdlib": "imports of Python's standard library",
}  # fmt: skip


def output(command):
    """Return all that was printed by a command, the newest record last."""
    found = ["\n".join(each["output"]) for each in RECORDS if f"benchmarks.{command}" in each["command"]]
    assert found, command
    return "\n".join(found)


def links_table(text):
    return re.findall(r"^\| .* / \.\d+ / .*$", text, re.MULTILINE)


def test_the_readme_has_the_first_column_of_the_table_of_links():
    short = re.findall(r"^\| (.*) \| (\.\d+) \| (\.\d+) \| (\.\d+) \|$", README, re.MULTILINE)
    whole = [row.strip("| ").split(" | ") for row in links_table(FIGURES)]
    assert short == [(graph, *mrr.split(" / ")) for graph, mrr, *_ in whole]


def test_the_table_of_links_is_that_of_the_records():
    rows = links_table(FIGURES)
    recorded = re.findall(r"^(\S+) +(\..*)$", output("shelf cora_ml"), re.MULTILINE)
    assert rows == [
        f"| {TITLES[name]} | " + " | ".join(re.split(r" {2,}", cells)) + " |" for name, cells in recorded
    ]


def seconds(value):
    return f"{float(value):.0f}"


def thousands(value):
    return f"{float(value.replace(',', '')) / 1000:.0f},000"


def short(value):
    """The figure to three digits, without the zero."""
    return f"{float(value):.3f}".lstrip("0")


def fraction(value):
    return f"{float(value):.2f}".lstrip("0")


@pytest.mark.parametrize(
    ("command", "printed", "shown", "rounded"),
    [
        ("shelf wn18rr", r"wn18rr +mrr (\S+)", "| WN18RR, filtered MRR | {} |", short),
        ("shelf wn18rr", r"glosses +mrr (\S+)", "| WN18RR with glosses as text | {} |", short),
        ("shelf wn18rr", r"umls +mrr (\S+)", "| UMLS, filtered MRR | {} |", short),
        ("shelf wn18rr", r"kinships +mrr (\S+)", "| Kinships, filtered MRR | {} |", short),
        ("shelf wn18rr", r"ndcg@10 (\S+)", "| MovieLens-100K, nDCG@10 | {} |", short),
        ("dirlink", r"cora_ml, all features +(0.97\S*)$", "Hits@100 | {} /", short),
        ("dirlink", r"citeseer, all features +(0.98\S*)$", "/ {} | .904 / .937 |", short),
        ("versus", r"^HEAT, default +\S+ +(\S+)", "| HEAT, 10 dimensions | {} | 2.9 |", short),
        ("versus", r"^HEAT, walks 2 +\S+ +(\S+)", "| HEAT, two walks per node | {} | 1.0 |", short),
        ("versus", r"^FastRP 128, attributes +\S+ +(\S+)", "with attributes | {} | 2.1 |", short),
        ("versus", r"^FastRP 128 +\S+ +(\S+)", "128 dimensions | {} | 0.6 |", short),
        ("versus", r"^Word2Vec 10, walks 10 +\S+ +(\S+)", "on HEAT's walks | {} | 37 |", short),
        ("versus", r"^node2vec 10, iterations 5 +\S+ +(\S+)", "| node2vec of GDS | {} | 39 |", short),
        ("versus", r"^PoincareModel, epochs 50 +\S+ +(\S+)", "Poincaré embedding | {} | 35 |", short),
        ("trip", r"links published in (\S+) s", "links included | {} s |", seconds),
        ("trip", r"each edge once: 50 epochs in (\S+) s", "50 epochs | {} to", seconds),
        ("trip", r"both directions: 50 epochs in (\S+) s", "to {} s |", seconds),
        ("growth --nodes 1000000", r"nodes, .* relationships: (\d+) s", "| {} min, 2.7 GiB |",
         lambda value: f"{float(value) / 60:.0f}"),
        ("growth --nodes 1000000", r"peak memory +(\S+) GiB", "| 9 min, {} GiB |",
         lambda value: f"{float(value):.1f}"),
        ("growth", r"time grows as N\^(\S+)", "Time grows as N^{} from", lambda value: f"{float(value):.1f}"),
        ("refresh", r"ppi .* s +(0\.030) ", "1 % new nodes | {} to", fraction),
        ("refresh", r"cora_ml .* s +(0\.063) ", "to {} of a full training |", fraction),
        ("refresh", r"ppi .* s +(0\.382) ", "edges changed | {} to", fraction),
        ("refresh", r"cora_ml .* s +(0\.426) ", "to {} of a full training |", fraction),
        ("reading", r"ours: all.* ([\d,]+) +\S+$", "| {} rows per second |", thousands),
        ("writing", r"ours: coordinates +\S+ +(\S+)", "| {} nodes or", thousands),
        ("writing", r"ours: links +\S+ +(\S+)", "or {} links per second |", thousands),
        ("corpus", r"128 dimensions +(\S+)", "AUROC {} against .997", short),
        ("corpus", r"HEAT, 10 dimensions +(\S+)", "AUROC .876 against {}", short),
        ("corpus", r"HEAT, 10 dimensions .* (\S+)$", "10 s against {} s", seconds),
        ("throughput --dim 10", r"^ +1 +(\S+)", "trains {} million pairs",
         lambda value: f"{float(value.replace(',', '')) / 1e6:.1f}"),
        ("throughput --dim 10", r"^ +1 .* (\S+)$", "{} times as many", lambda value: f"{float(value):.1f}"),
        ("coarse", r"hyperbolic .*10 walks +\d+ +(\S+)", "MRR falls from {} to .134", short),
        ("coarse", r"hyperbolic +coarse +\d+ +(\S+)", "MRR falls from .165 to {}.", short),
        ("coarse", r"wordnet +coarse .* (\S+)$", "AUROC falls from .941 to {}.", short),
    ],
)  # fmt: skip
def test_a_figure_of_the_page_is_a_recorded_one(command, printed, shown, rounded):
    found = re.findall(printed, output(command), re.MULTILINE)
    assert found, printed
    assert shown.format(rounded(found[-1])) in " ".join(FIGURES.split())


def test_the_figures_of_classes_are_those_of_the_jobs():
    tables = stored_tables()

    def f1(method, graph):
        return short(_f1_means(tables, method, graph)[0][0])

    heat, gensim, svd, chance = (
        CLASSIFIERS_BY_WORD[word] for word in ("HEAT", "gensim", "SVD", "class frequencies")
    )
    text = " ".join(FIGURES.split())
    assert f"Cora_ML: HEAT {f1(heat, 'cora_ml')}, gensim {f1(gensim, 'cora_ml')}, SVD of the" in text
    assert f"attributes {f1(svd, 'cora_ml')}." in text
    assert f"HEAT reaches {f1(heat, 'ppi')}, the SVD {f1(svd, 'ppi')} and" in text
    assert f"classes alone {f1(chance, 'ppi')}." in text


CLASSIFIERS_BY_WORD = {
    word: next(name for name in CLASSIFIERS if word in name)
    for word in ("HEAT", "gensim", "SVD", "class frequencies")
}


def test_the_start_page_states_hits_of_the_table():
    row = next(line for line in links_table(FIGURES) if line.startswith("| Citeseer"))
    ours, stack = row.split(" | ")[2].split(" / ")[:2]
    text = " ".join(PAGES["docs/index.md"].split())
    assert f"{round(100 * float(ours))} % of held-out citations" in text
    assert f"textbook features finds {round(100 * float(stack))} %" in text


def test_the_readme_states_the_same_time_and_memory():
    assert "9 min, 2.7 GiB" in FIGURES
    assert "9 minutes on two cores and 2.7 GiB" in " ".join(README.split())
    assert "9 minutes and 2.7 GiB" in " ".join(PAGES["docs/index.md"].split())
