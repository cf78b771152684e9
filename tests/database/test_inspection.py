"""What a server offers the user: told by what it answers, and by a live one."""

from types import SimpleNamespace

import pytest

from heat_neo4j.database.connection import ServerInfo
from heat_neo4j.database.limits import Limits
from heat_neo4j.database.publish.inspection import OLDEST, ModelState, inspect_server
from heat_neo4j.database.publish.publication import await_readers
from heat_neo4j.database.read.rights import Rights, privileged, sees_all_transactions
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import ProjectionError
from heat_neo4j.local_server.releases import RELEASES
from tests.support.live_graph import snapshot

PROCEDURES = ["db.labels", "db.propertyKeys", "db.relationshipTypes", "db.index.vector.queryNodes"]
ONLINE = {"access": "read-write", "status": "online", "message": "", "writer": True}


class Answering:
    """A connection to a server that answers as told, by the names of the statements."""

    def __init__(self, version="5.26.31", edition="community", **answers):
        self.server = ServerInfo(version, edition, "there:7687", "films")
        usual = {
            "database_access": [ONLINE],
            "procedures": [{"names": PROCEDURES}],
            "functions": [{"names": ["vector.similarity.euclidean"]}],
            "bookkeeping": [{"models": [], "runs": []}],
        }
        answers = {f"read/{name}": rows for name, rows in {**usual, **answers}.items()}
        answers["gds/version"] = [{"version": "2.13.9"}]
        self._answers = {load_statement(name): rows for name, rows in answers.items()}

    def run(self, statement, parameters):
        return SimpleNamespace(records=self._answers[statement])

    def read(self, statement, parameters=None, *, doing="reading"):
        rows = self._answers[statement]
        if isinstance(rows, Exception):
            raise rows
        return rows


def test_nothing_is_wrong_with_a_usual_server():
    report = inspect_server(Answering())
    assert report.problems == ()
    assert report.access == "read-write"
    assert report.rights == Rights(read=True, write=True, index=True)
    assert report.vector_index
    assert report.plugins == ()
    assert report.to_dict()["server"]["edition"] == "community"


def test_the_oldest_release_is_the_oldest_that_is_tested():
    assert min(RELEASES, key=float) == OLDEST


@pytest.mark.parametrize(("version", "fits"), [("5.25.1", False), ("4.4", False), ("5.27-aura", True)])
def test_a_server_that_is_too_old_is_asked_nothing_more(version, fits):
    report = inspect_server(Answering(version))
    assert (report.rights is not None) == fits
    if not fits:
        assert report.problems == (
            f"Neo4j {version} is older than 5.26, the oldest that heat works on: update it",
        )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"access": "read-only"}, "'films' is read-only: ALTER DATABASE ... SET ACCESS READ WRITE"),
        ({"status": "offline"}, "'films' is offline: SHOW DATABASES says more"),
        ({"status": "offline", "message": "no disk"}, "'films' is offline (no disk): SHOW DATABASES"),
    ],
)
def test_a_database_that_takes_no_writes(row, problem):
    (told,) = inspect_server(Answering(database_access=[{**ONLINE, **row}])).problems
    assert problem in told


def test_of_a_cluster_the_server_counts_that_takes_writes():
    reader = {**ONLINE, "access": "read-only", "writer": False}
    assert inspect_server(Answering(database_access=[reader, ONLINE])).problems == ()
    assert len(inspect_server(Answering(database_access=[reader])).problems) == 1
    assert inspect_server(Answering(database_access=[])).access is None


def test_a_procedure_that_may_not_be_called_is_named():
    report = inspect_server(Answering(procedures=[{"names": PROCEDURES[:-1]}]))
    assert report.vector_index  # the server has such indexes, the user may not search them
    (told,) = report.problems
    assert "may not call the procedure db.index.vector.queryNodes" in told


def test_plugins_and_vector_indexes_are_told_by_functions():
    report = inspect_server(Answering(functions=[{"names": ["apoc.version", "gds.version"]}]))
    assert report.plugins == ("GDS 2.13.9", "APOC")
    assert not report.vector_index


def privileges(*actions, access="GRANTED", graph="films"):
    return [{"access": access, "action": action, "graph": graph} for action in actions]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], (False, False, False)),
        (privileges("match", "write", "index"), (True, True, True)),
        (privileges("read", "set_property", "create_index"), (True, True, True)),
        (privileges("graph_actions", "database_actions", graph="*"), (True, True, True)),
        (privileges("match", graph="HOME"), (True, False, False)),
        (privileges("match", "write", "index", graph="books"), (False, False, False)),
        (privileges("traverse", "access", "drop_index"), (False, False, False)),
    ],
)
def test_privileges_amount_to_rights(rows, expected):
    assert privileged(rows, "films") == Rights(*expected)


def seen(action="show_transaction", segment="USER(*)", **options):
    return [{**row, "segment": segment} for row in privileges(action, **options)]


@pytest.mark.parametrize(
    ("edition", "servers", "rows", "expected"),
    [
        ("community", 1, [], True),
        ("enterprise", 1, [], False),
        ("enterprise", 1, seen(), True),
        ("enterprise", 1, seen("transaction_management", graph="*"), True),
        ("enterprise", 1, seen(segment="USER(alice)"), False),
        ("enterprise", 1, seen(graph="books"), False),
        ("enterprise", 1, seen() + seen(segment="USER(bob)", access="DENIED"), False),
        ("enterprise", 3, seen(), False),
    ],
)
def test_all_transactions_are_listed_to_whoever_may_see_them_on_one_server(edition, servers, rows, expected):
    answers = {"'system'": [{"servers": servers}], "PRIVILEGES": rows}

    def read(statement, parameters=None, *, doing):
        return next(answer for words, answer in answers.items() if words in statement)

    server = SimpleNamespace(edition=edition, database="films")
    assert sees_all_transactions(SimpleNamespace(server=server, read=read)) is expected


@pytest.mark.parametrize(
    ("edition", "listed", "slept"),
    [
        ("community", [[]], 0.0),
        (
            "community",
            [["a", "b"], ["b", "later"], ["later"]],
            0.2,
        ),  # those that began later read the new version
        ("enterprise", [["a"], []], Limits.grace_seconds),  # which does not list those of other users
    ],
)
def test_a_publication_waits_for_the_readers_before_it_and_no_longer(edition, listed, slept):
    clock, listed = SimpleNamespace(now=0.0), iter(listed)

    def read(statement, parameters=None, *, doing):
        if "SHOW TRANSACTIONS" in statement:
            return [{"ids": next(listed)}]
        return [{"servers": 1}] if "'system'" in statement else []

    def sleep(seconds):
        clock.now += seconds

    server = SimpleNamespace(edition=edition, database="films")
    connection = SimpleNamespace(server=server, read=read, limits=Limits())
    await_readers(connection, clock=lambda: clock.now, sleep=sleep)
    assert clock.now == pytest.approx(slept)


def test_what_is_denied_is_told():
    rows = privileges("match", "write") + privileges("write", access="DENIED")
    assert privileged(rows, "films") == Rights(read=True, write=True, index=False, denied=("write",))


def test_a_user_without_rights_is_told_what_to_do():
    report = inspect_server(Answering(edition="enterprise", privileges=privileges("match")))
    advice = "docker/roles.cypher lists what a role for heat needs"
    assert report.problems == (
        f"the user may not write to database 'films': {advice}",
        f"the user may not make indexes in database 'films': {advice}",
    )


def test_a_server_that_does_not_say_what_the_user_may_is_no_problem():
    refused = ProjectionError("refused a statement")
    report = inspect_server(Answering(edition="enterprise", privileges=refused))
    assert report.rights == Rights(None, None, None)
    assert report.problems == ()


RUN, LINKS, BROKEN = (f"2026080{day}T060000Z-5f3a9c1e7b24" for day in (1, 2, 3))
BOOKKEEPING = """
CREATE (:HeatModel {name: 'inspected', version: 1, createdBy: 'heat_neo4j'}),
  (:HeatVersion {model: 'inspected', number: 1, run: $run, createdBy: 'heat_neo4j', space: $run,
    embeddingProperty: 'heatEmbedding', radiusProperty: 'heatRadius', runProperty: 'heatRun',
    vectorProperty: 'heatEmbedding', coordinates: 'poincare', dimension: 2,
    linkRun: $links, linkType: 'HEAT_PREDICTED', indexes: ['gone']}),
  (:HeatRun {model: 'inspected', runId: $run, parts: ['embedding'], stored: ['embedding'], status: 'complete',
    nodesWritten: 30, createdBy: 'heat_neo4j'}),
  (:HeatRun {model: 'inspected', runId: $links, parts: ['links'], stored: ['links'], status: 'complete',
    linksWritten: 5, createdBy: 'heat_neo4j'}),
  (:HeatRun {model: 'inspected', runId: $broken, parts: ['links'], stored: ['links'], status: 'incomplete',
    linksWritten: 7, createdBy: 'heat_neo4j'}),
  (:HeatModel {name: 'busy', createdBy: 'heat_neo4j', leaseUntil: datetime() + duration('PT1H')})
"""


@pytest.mark.live
@pytest.mark.one_release
def test_a_live_server_is_inspected_and_left_as_it_is(store, cypher):
    cypher(BOOKKEEPING, run=RUN, links=LINKS, broken=BROKEN)
    try:
        before = snapshot(cypher)
        report = store.doctor()
        assert snapshot(cypher) == before
    finally:
        cypher(
            "MATCH (n) WHERE n.model = 'inspected' OR n:HeatModel AND n.name IN ['inspected', 'busy'] "
            "DELETE n"
        )
    assert report.problems == ("index 'gone' is missing: run `heat index create`",)
    assert (report.access, report.vector_index) == ("read-write", True)
    assert ModelState("inspected", RUN, LINKS, 30, 5, ("gone",), 1) in report.models
