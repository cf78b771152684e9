"""The table of `test_bad_input`: what is in the graph, what is asked, which line and exit code come of it.

In a line, ``URI`` stands for the server's address and ``ID`` for any element id.
"""

# ruff: noqa: E501 - messages are quoted whole

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Two papers that cite each other and one that cites nothing; every case starts from them.
GRAPH = """
CREATE (a:BadPaper {key: 1, year: 2001, words: ['x', 'y'], same: 1}),
       (b:BadPaper {key: 2, year: 2002, words: ['y'], same: 1}),
       (:BadPaper {key: 3, year: 2003, words: ['z'], same: 1}),
       (a)-[:BAD_CITES {weight: 1.5}]->(b), (b)-[:BAD_CITES {weight: 2}]->(a)
"""
PAPERS = ("--label", "BadPaper", "--relationship", "BAD_CITES")
SMALL = ("--n-components", "2", "--walks-per-node", "1", "--walk-length", "4", "--model", "bad")
EMBED = ("embed", *PAPERS, *SMALL, "--no-index")
WEIGHTED = (*EMBED, "--weight", "weight")
HOSTILE = "BadPaper`)//\"'"


@dataclass(frozen=True)
class Case:
    """One mistake: `graph` is added to GRAPH, `arguments` are given to ``heat``."""

    name: str
    arguments: tuple[str, ...]
    code: int
    line: str
    graph: str = ""
    environment: Mapping[str, str | None] = field(default_factory=dict)


READER_TWINS = {
    "unknown type",
    "hostile type",
    "unknown attribute",
    "hostile attribute",
    "unknown weight",
    "unknown key",
    "filter with a syntax error",
    "filter of another variable",
    "nothing matches",
    "infinite weight",
    "negative weight",
    "weight in words",
    "weight true or false",
    "weight on none",
    "no relationships",
    "no relationships, equal attributes",
    "ragged attribute",
    "NaN attribute",
    "attribute of dates in lists",
    "key missing",
    "key of two kinds",
    "links of an unknown model",
    "verifying an unknown run",
}
"""Cases of messages that the tests of the reader check too, or that differ from another case by one word."""

CASES = [
    Case(
        "wrong password",
        EMBED,
        3,
        "Neo4j at URI refused the login: check user name and password (NEO4J_USERNAME, NEO4J_PASSWORD)",
        environment={"NEO4J_PASSWORD": "wrong"},
    ),
    Case(
        "no server",
        (*EMBED, "--uri", "bolt://127.0.0.1:1"),
        3,
        "no Neo4j answers at bolt://127.0.0.1:1 (Connection refused): check the address, or start a local server with `heat server start`",
    ),
    Case(
        "not a Neo4j address",
        (*EMBED, "--uri", "http://127.0.0.1:7474"),
        3,
        "the server address is one for a browser: give one such as neo4j://localhost:7687 (bolt:// for a single server, neo4j+s:// for Aura)",
    ),
    Case(
        "password in the address",
        (*EMBED, "--uri", "bolt://neo4j:hunter2@127.0.0.1"),
        3,
        "the server address must not hold a user name or password, which are given separately: give one such as neo4j://localhost:7687 (bolt:// for a single server, neo4j+s:// for Aura)",
    ),
    Case(
        "unknown database",
        (*EMBED, "--database", "nowhere"),
        3,
        "Neo4j at URI has no database 'nowhere': SHOW DATABASES lists them",
    ),
    Case(
        "no password",
        EMBED,
        2,
        "no password for user 'neo4j': set NEO4J_PASSWORD or give --password-file",
        environment={"NEO4J_PASSWORD": None},
    ),
    Case(
        "no password file",
        (*EMBED, "--password-file", "nowhere.txt"),
        2,
        "password file nowhere.txt: cannot be read: No such file or directory",
    ),
    Case(
        "no server named",
        EMBED,
        2,
        "no server given: set NEO4J_URI, give an address (--uri), or start a local one with `heat server start`",
        environment={"NEO4J_URI": None},
    ),
    Case(
        "no such configuration",
        (*EMBED, "--config", "nowhere.toml"),
        2,
        "nowhere.toml: cannot be read: No such file or directory",
    ),
    Case(
        "unknown label",
        ("embed", "--label", "BadPapers"),
        4,
        "no node label 'BadPapers' in database 'neo4j': did you mean 'BadPaper'?",
    ),
    Case(
        "hostile label",
        ("embed", "--label", HOSTILE),
        4,
        "no node label 'BadPaper`)//\"\\'' in database 'neo4j': did you mean 'BadPaper'?",
    ),
    Case(
        "unknown type",
        ("embed", "--label", "BadPaper", "--relationship", "BAD_CITE"),
        4,
        "no relationship type 'BAD_CITE' in database 'neo4j': did you mean 'BAD_CITES'?",
    ),
    Case(
        "hostile type",
        ("embed", "--label", "BadPaper", "--relationship", "BAD_CITES`]//"),
        4,
        "no relationship type 'BAD_CITES`]//' in database 'neo4j': did you mean 'BAD_CITES'?",
    ),
    Case(
        "unknown attribute",
        (*EMBED, "--attribute", "yaer"),
        4,
        "no attribute property 'yaer' in database 'neo4j': did you mean 'year'?",
    ),
    Case(
        "hostile attribute",
        (*EMBED, "--attribute", "year`//"),
        4,
        "no attribute property 'year`//' in database 'neo4j': did you mean 'year'?",
    ),
    Case(
        "unknown weight",
        (*EMBED, "--weight", "wieght"),
        4,
        "no weight property 'wieght' in database 'neo4j': did you mean 'weight'?",
    ),
    Case(
        "unknown key",
        (*EMBED, "--key", "kee"),
        4,
        "no key property 'kee' in database 'neo4j': did you mean 'key'?",
    ),
    Case(
        "name that cannot be quoted",
        (*EMBED, "--model", "a\\u0060b"),
        2,
        "model: the name 'a\\\\u0060b' holds the characters \\u, which cannot be quoted safely in Cypher (see `heat embed --help`)",
    ),
    Case(
        "filter with a syntax error",
        (*EMBED, "--node-filter", "n.year >"),
        4,
        "--node-filter 'n.year >' is refused by the server: Invalid input ')': expected an expression",
    ),
    Case(
        "filter that would write",
        (*EMBED, "--node-filter", "true DETACH DELETE n //"),
        4,
        "--node-filter 'true DETACH DELETE n //' is refused by the server: Invalid input 'DETACH': expected an expression",
    ),
    Case(
        "filter of another variable",
        (*EMBED, "--relationship-filter", "n.year > 1"),
        4,
        "--relationship-filter 'n.year > 1' is refused by the server: Variable `n` not defined",
    ),
    Case(
        "nothing matches",
        (*EMBED, "--node-filter", "n.year > 3000"),
        4,
        "there is no node of label 'BadPaper' with 'n.year > 3000': nothing to read",
    ),
    Case(
        "NaN weight",
        WEIGHTED,
        4,
        "weight 'weight' is not usable: 2 NaN, e.g. nan from node ID to node ID: weights are finite numbers of 0 or more; fix them or use --relationship-filter",
        graph="MATCH ()-[r:BAD_CITES]->() SET r.weight = 0.0 / 0.0",
    ),
    Case(
        "infinite weight",
        WEIGHTED,
        4,
        "weight 'weight' is not usable: 2 infinite, e.g. inf from node ID to node ID: weights are finite numbers of 0 or more; fix them or use --relationship-filter",
        graph="MATCH ()-[r:BAD_CITES]->() SET r.weight = 1.0 / 0.0",
    ),
    Case(
        "negative weight",
        WEIGHTED,
        4,
        "weight 'weight' is not usable: 1 negative, e.g. -1.0 from node ID to node ID: weights are finite numbers of 0 or more; fix them or use --relationship-filter",
        graph="MATCH (:BadPaper {key: 1})-[r]->() SET r.weight = -1",
    ),
    Case(
        "weight in words",
        WEIGHTED,
        4,
        "weight 'weight' is not usable: 1 not numbers (str), e.g. 'much' from node ID to node ID: weights are finite numbers of 0 or more; fix them or use --relationship-filter",
        graph="MATCH (:BadPaper {key: 1})-[r]->() SET r.weight = 'much'",
    ),
    Case(
        "weight true or false",
        WEIGHTED,
        4,
        "weight 'weight' is not usable: 1 not numbers (bool), e.g. True from node ID to node ID: weights are finite numbers of 0 or more; fix them or use --relationship-filter",
        graph="MATCH (:BadPaper {key: 1})-[r]->() SET r.weight = true",
    ),
    Case(
        "weight on none",
        (*EMBED, "--weight", "year"),
        4,
        "weight 'year' is on none of the 2 relationships that match: name another property, or leave the weight out",
    ),
    Case(
        "one node",
        (*EMBED, "--node-filter", "n.key = 1"),
        4,
        "the projection cannot be embedded: the graph offers no pair to learn from: no node has a neighbour or a similar node: `heat check` shows what the projection matches",
    ),
    Case(
        "no relationships",
        (*EMBED, "--relationship-filter", "false"),
        4,
        "the projection cannot be embedded: the graph offers no pair to learn from: no node has a neighbour or a similar node: `heat check` shows what the projection matches",
    ),
    Case(
        "no relationships, equal attributes",
        (*EMBED, "--relationship-filter", "false", "--attribute", "same"),
        4,
        "the projection cannot be embedded: the graph offers no pair to learn from: no node has a neighbour or a similar node: `heat check` shows what the projection matches",
    ),
    Case(
        "mixed attribute",
        (*EMBED, "--attribute", "year"),
        4,
        "attribute 'year' mixes strings ('MMII') and numbers (2001): make them one kind, read it from one label (--label-attribute), or leave the attribute out",
        graph="MATCH (n:BadPaper) SET n.year = CASE n.key WHEN 2 THEN 'MMII' ELSE 2001 END",
    ),
    Case(
        "ragged attribute",
        (*EMBED, "--attribute", "vector"),
        4,
        "attribute 'vector' has lists of several lengths: 2 numbers on 2 nodes and 3 on 1, first on node ID: give all nodes lists of one length, as one model makes them, or leave the attribute out",
        graph="MATCH (n:BadPaper) SET n.vector = [x IN range(1, CASE n.key WHEN 2 THEN 3 ELSE 2 END) | 0.5]",
    ),
    Case(
        "NaN attribute",
        (*EMBED, "--attribute", "year"),
        4,
        "attribute 'year' has a value that is NaN, infinite or too large (nan) on node ID: set or remove the value, or leave the attribute out",
        graph="MATCH (n:BadPaper {key: 2}) SET n.year = 0.0 / 0.0",
    ),
    Case(
        "attribute of dates in lists",
        (*EMBED, "--attribute", "day"),
        4,
        "attribute 'day' holds lists of Date values ([2001-01-01]) on node ID and 2 more: only numbers, booleans, strings, dates, times, durations, points, lists of numbers and lists of strings can be read; convert it, or leave it out",
        graph="MATCH (n:BadPaper) SET n.day = [date('2001-01-01')]",
    ),
    Case(
        "key twice",
        (*EMBED, "--key", "key"),
        4,
        "key 'key' is not unique: several nodes have 1; use LABEL=PROPERTY, choose another property, or leave this key out",
        graph="MATCH (n:BadPaper {key: 2}) SET n.key = 1",
    ),
    Case(
        "key missing",
        (*EMBED, "--key", "key"),
        4,
        "key 'key' is missing on 1 of 3 nodes: a key must be on all; use LABEL=PROPERTY, choose another property, or leave this key out",
        graph="MATCH (n:BadPaper {key: 2}) REMOVE n.key",
    ),
    Case(
        "key of two kinds",
        (*EMBED, "--key", "key"),
        4,
        "key 'key' has int and str values: a key must be all whole numbers or all strings; 1 of 3 are str, such as 'two': store all as strings (toString)",
        graph="MATCH (n:BadPaper {key: 2}) SET n.key = 'two'",
    ),
    Case(
        "property of the user",
        EMBED,
        5,
        "badEmbedding, badRadius, badRun or badVector, or its Staged or Previous copy, on 1 node (e.g. ID) is not from a run of model 'bad': use another --model, repeat an interrupted clear, or set --overwrite",
        graph="MATCH (n:BadPaper {key: 2}) SET n.badEmbedding = 'mine'",
    ),
    Case(
        "relationship type of the user",
        EMBED,
        5,
        "type 'BAD_PREDICTED' on 1 relationship (e.g. ID) is not from a run of model 'bad': use another --model, repeat an interrupted clear, or set --overwrite; existing relationships stay as they are",
        graph="MATCH (n:BadPaper {key: 2}) CREATE (n)-[:BAD_PREDICTED]->(n)",
    ),
    Case(
        "writing over the input",
        (*EMBED, "--attribute", "badRadius"),
        5,
        "the node property 'badRadius' is read by the projection: use another --model",
        graph="MATCH (n:BadPaper) SET n.badRadius = n.year",
    ),
    Case(
        "hierarchy of a type that is not read",
        (*EMBED, "--hierarchy", "BAD_CITE"),
        4,
        "--hierarchy: no relationships of type BAD_CITE: the graph has BAD_CITES",
    ),
    Case(
        "estimate of a hierarchy of a type that is not read",
        ("estimate", *PAPERS, *SMALL, "--hierarchy", "BAD_CITE"),
        4,
        "--hierarchy: no relationships of type BAD_CITE: the graph has BAD_CITES",
    ),
    Case(
        "evaluation of a hierarchy of a type that is not read",
        ("evaluate", "links", *PAPERS, *SMALL[:-2], "--hierarchy", "BAD_CITE"),
        4,
        "the graph cannot be evaluated: no relationships of type BAD_CITE: the graph has BAD_CITES",
    ),
    Case(
        "links without that label",
        (*EMBED, "--predict", "BadPapr-*->*"),
        4,
        "'BadPapr-*->*': the graph has no label 'BadPapr': did you mean 'BadPaper'?",
    ),
    Case(
        "links of nothing",
        ("links", "--model", "BadModel"),
        4,
        "model 'BadModel' has no published coordinates in this database: run `heat embed`, or choose a model of `heat runs`",
    ),
    Case(
        "links of an unknown model",
        ("links", "--model", "x`'\""),
        4,
        "model 'x`\\'\"' has no published coordinates in this database: run `heat embed`, or choose a model of `heat runs`",
    ),
    Case(
        "clearing an unknown run",
        ("clear", "--run", "nothing", "--yes"),
        5,
        "there is no run 'nothing' in this database: `heat runs` lists them",
    ),
    Case(
        "showing an unknown run",
        ("runs", "show", "nothing"),
        2,
        "there is no run 'nothing' in this database: `heat runs` lists them",
    ),
    Case(
        "verifying an unknown run",
        ("verify", "nothing", "--model", "bad"),
        2,
        "there is no run 'nothing' in this database: `heat runs` lists them",
    ),
    Case(
        "verifying what is not published",
        ("verify", "--model", "BadModel"),
        4,
        "model 'BadModel' has no published coordinates in this database: run `heat embed`, or choose a model of `heat runs`",
    ),
    Case(
        "clearing nothing in particular",
        ("clear", "--yes"),
        2,
        "give one of --run, --model and --all (see `heat clear --help`)",
    ),
]
