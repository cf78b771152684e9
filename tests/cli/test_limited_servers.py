"""Under each limit of a server, every command that writes finishes, or names the setting in one line."""

import time
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from tests.support.limited_servers import LIMITED_SERVERS, LIMITS
from tests.support.live_graph import EASY_GATE, open_cypher

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(1800)]
LABEL, TYPE, MODEL = "LimitedPaper", "LIMITED_CITES", "limited"
N, DIMENSION, DEGREE, K = 2_000, 64, 4, 3
LONGEST = 150.0  # seconds until a command that cannot finish has said so
JOB = (
    "--label", LABEL, "--relationship", TYPE, "--key", "key", "--attribute", "words", "--model", MODEL,
    "--n-components", str(DIMENSION), "--walks-per-node", "2", "--walk-length", "20", "--random-state", "1",
    "--k", str(K), "--score", "distance",
)  # fmt: skip
CHANGE = f"MATCH (a:{LABEL} {{key: $key}})-[r:{TYPE}]->() WITH r LIMIT 1 DELETE r"
COMMANDS = (
    ("embed", *JOB),
    ("links", "--model", MODEL, "--k", str(K + 1), "--min-probability", "0"),  # no paper lacks a likely link
    ("refresh", "--model", MODEL, "--mode", "full"),
    ("refresh", *JOB, "--mode", "local"),
    ("rollback", "--model", MODEL),
    ("clear", "--all", "--yes"),
)
DOCUMENTED = range(2, 15)


def make_papers(cypher):
    """Create groups of fifty papers that cite one another, with the words of their group."""
    for first in range(0, N, 250):
        cypher(
            "UNWIND range($first, $first + 249) AS i "
            f"CREATE (:{LABEL} {{key: i, words: ['w' + (i / 50), 'v' + (i % 7)]}})",
            first=first,
        )
    cypher(f"CREATE CONSTRAINT limited_key FOR (n:{LABEL}) REQUIRE n.key IS UNIQUE")
    cypher("CALL db.awaitIndexes(60)")
    for first in range(0, N, 250):
        cypher(
            "UNWIND range($first, $first + 249) AS i UNWIND range(1, $degree) AS step "
            f"MATCH (a:{LABEL} {{key: i}}), (b:{LABEL} {{key: i / 50 * 50 + (i + step * step) % 50}}) "
            f"CREATE (a)-[:{TYPE}]->(b)",
            first=first,
            degree=DEGREE,
        )


def of_the_user(cypher):
    """Return how many papers and citations there are."""
    (row,) = cypher(
        f"MATCH (n:{LABEL}) RETURN count(n) AS nodes, sum(COUNT {{ (n)-[:{TYPE}]->() }}) AS relationships, "
        "sum(size(n.words)) AS words"
    )
    return dict(row)


def assert_published_is_whole(cypher):
    """Check, as a reader by version would see them, every coordinate and link of what is published."""
    versions = cypher(
        "MATCH (m:HeatModel {name: $m}) MATCH (v:HeatVersion {model: m.name, number: m.version}) "
        "RETURN v {.*} AS v",
        m=MODEL,
    )
    for version in (row["v"] for row in versions):
        names = {
            name: [version.get(f"staged{name.capitalize()}", ""), version[f"{name}Property"]]
            for name in ("embedding", "radius", "run")
        }
        (row,) = cypher(
            f"MATCH (n:{LABEL}) WHERE coalesce(n[$run[0]], n[$run[1]]) = $space "
            "WITH coalesce(n[$embedding[0]], n[$embedding[1]]) AS u, "
            "coalesce(n[$radius[0]], n[$radius[1]]) AS r "
            "RETURN count(*) AS nodes, collect(DISTINCT size(u)) AS sizes, count(r) AS radii",
            space=version["space"],
            **names,
        )
        assert dict(row) == {"nodes": N, "sizes": [DIMENSION], "radii": N}
        if "linkRun" not in version:
            continue
        (row,) = cypher(
            "MATCH (h:HeatRun {runId: $run}) "
            "RETURN h.linksWritten AS written, "
            "COUNT { MATCH ()-[p]->() WHERE type(p) = $type AND p.run = $run } AS found, "
            "COUNT { MATCH ()-[p]->() WHERE type(p) = $type } AS of_type, "
            "COLLECT { MATCH ()-[p]->() WHERE type(p) = $type RETURN DISTINCT p.rank } AS ranks",
            run=version["linkRun"],
            type=version.get("stagedLinkType", version["linkType"]),
        )
        assert row["found"] == row["of_type"] == row["written"] > 0
        assert set(row["ranks"]) == set(range(1, row["written"] + 1))
    return len(versions)


@pytest.mark.parametrize(
    "throwaway_server", [pytest.param(each, id=name) for name, each in LIMITED_SERVERS.items()], indirect=True
)
def test_commands_finish_or_name_the_setting_and_what_is_published_is_whole(throwaway_server, tmp_path):
    uri, user, password = throwaway_server.connection()
    environment = {
        "NEO4J_URI": uri,
        "NEO4J_USERNAME": user,
        "NEO4J_PASSWORD": password,
        "HEAT_CONFIG": str(tmp_path / "heat.toml"),
    }
    (tmp_path / "heat.toml").write_text(EASY_GATE)
    server = SimpleNamespace(uri=uri, user=user, password=password, database=None)
    (setting,) = LIMITS.keys() & throwaway_server.release.settings.keys()
    has_failed = False
    with open_cypher(server) as cypher:
        make_papers(cypher)
        for number, command in enumerate(COMMANDS):
            if "local" in command:
                for key in range(3):
                    cypher(CHANGE, key=key)
            graph, began = of_the_user(cypher), time.monotonic()
            result = CliRunner().invoke(heat, list(command), prog_name="heat", env=environment)
            seconds = time.monotonic() - began
            print(f"{number} heat {command[0]}: code {result.exit_code}, {seconds:.0f} s\n{result.output}")
            lines = [line for line in result.stderr.splitlines() if line.startswith("heat: ")]
            assert result.exit_code in {0, *DOCUMENTED}, result.exception
            if result.exit_code:
                has_failed = True
                assert [f"raise {setting} of the server" in line for line in lines] == [True], lines
                assert seconds < LONGEST
            assert of_the_user(cypher) == graph
            assert has_failed or assert_published_is_whole(cypher) == (command[0] != "clear")
            assert_published_is_whole(cypher)
