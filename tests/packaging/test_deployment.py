"""docker/: the examples for schedules, each read by the program it is for or by a parser of its format.

Their command lines run under a shell against a live server, with the folders they name put below a temporary
one. Docker, Kubernetes and systemd as a service manager are not needed, so nothing is deployed.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import neo4j
import pytest
from cronsim import CronSim
from neo4j.exceptions import ClientError
from ruamel.yaml import YAML

from heat_neo4j import HEAT, errors
from heat_neo4j.cli.config import read_config
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.pipeline.embed import embed
from tests.support.commands import parse
from tests.support.documents import blocks
from tests.support.environments import Environment, clean_variables
from tests.support.live_graph import published_node

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
COMPOSE, CRONTAB, ROLES = DOCKER / "compose.yml", DOCKER / "cron" / "crontab", DOCKER / "roles.cypher"
SERVICE, TIMER = DOCKER / "systemd" / "heat-refresh.service", DOCKER / "systemd" / "heat-refresh.timer"
KUBERNETES, DAG = DOCKER / "kubernetes", DOCKER / "airflow" / "heat_refresh.py"
MANIFESTS = ("configmap.yaml", "cache.yaml", "cronjob.yaml", "secret.example.yaml")
OLDEST_KUBERNETES = "1.31"

# The same with Airflow 2; its last releases came before Python 3.13, and before the SQLAlchemy of today.
AIRFLOW = ("apache-airflow-core==3.3.2", "apache-airflow-providers-standard")
AIRFLOW_2 = ("apache-airflow==2.10.5", "sqlalchemy<2")

# All directives that the units may have, for machines without systemd-analyze.
DIRECTIVES = """
[Unit] Description Documentation Wants After OnFailure
[Timer] OnCalendar RandomizedDelaySec Persistent
[Install] WantedBy
[Service] Type Environment EnvironmentFile LoadCredential ExecStart SuccessExitStatus TimeoutStartSec
  TimeoutStopSec KillSignal Nice CacheDirectory MemoryMax DynamicUser UMask NoNewPrivileges
  CapabilityBoundingSet AmbientCapabilities ProtectSystem ProtectHome ProtectProc ProtectClock ProtectHostname
  ProtectKernelLogs ProtectKernelModules ProtectKernelTunables ProtectControlGroups PrivateTmp PrivateDevices
  PrivateUsers RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID RemoveIPC
  LockPersonality SystemCallArchitectures SystemCallFilter
"""

LABEL, TYPE = "DeployedNode", "DEPLOYED_LINK"
CONFIG = f"""
[projection]
labels = ["{LABEL}"]
relationships = ["{TYPE}"]
[heat]
alpha = 0.0
n_components = 2
walks_per_node = 2
walk_length = 20
n_threads = 1
random_state = 0
[write]
model = "deployed"
"""


def yaml(path):
    return YAML(typ="safe").load(path)


# --- a machine as the examples expect it ------------------------------------------------------------------


class Machine:
    """A folder that stands for the root of a machine: /opt/heat, /etc/heat and /var/log/heat are below it."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("opt/heat/bin", "etc/heat", "var/log/heat"):
            (folder / name).mkdir(parents=True)
        command = [sys.executable, "-m", "heat_neo4j"]
        # PYTHONPATH as the tests have it, for a checkout that is not installed.
        self.program(f'PYTHONPATH={shlex.quote(os.pathsep.join(sys.path))} exec {shlex.join(command)} "$@"')

    def program(self, line):
        """Put a program in the place of heat."""
        program = self.folder / "opt/heat/bin/heat"
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)

    def configure(self, server, *connection):
        """Write the configuration, with some of the keys of the connection, and the password."""
        keys = {"uri": server.uri, "username": server.user, "database": server.database}
        keys["password_file"] = str(self.folder / "etc/heat/neo4j-password")
        lines = [f"{key} = {json.dumps(keys[key])}" for key in connection if keys[key] is not None]
        (self.folder / "etc/heat/heat.toml").write_text("\n".join(["[connection]", *lines, CONFIG]))
        (self.folder / "etc/heat/neo4j-password").write_text(f"{server.password}\n")

    def here(self, text):
        """Return the text with the machine's folders in the place of the real ones."""
        return re.sub(r"/(?=(?:opt/heat|etc/heat|var/log/heat)\b)", f"{self.folder}/", text)

    def shell(self, line, **variables):
        """Run a line as a scheduler does, without any variables but its own."""
        line = self.here(line)
        variables = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", **variables}
        variables = {name: self.here(value) for name, value in variables.items()}
        return subprocess.run(
            ["/bin/sh", "-c", line],
            env=variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


@pytest.fixture
def graph(cypher, store):
    """A ring of 60 nodes with chords, embedded once with other settings than the examples have.

    Nothing is left of it, nor of what a refresh makes of it.
    """
    cypher(
        f"UNWIND range(0, 59) AS i CREATE (:{LABEL} {{id: i}}) WITH count(*) AS n "
        f"MATCH (a:{LABEL}), (b:{LABEL}) WHERE (b.id - a.id + 60) % 60 IN [1, 5, 9] CREATE (a)-[:{TYPE}]->(b)"
    )
    model = HEAT(n_components=2, walks_per_node=1, walk_length=5, n_threads=1, random_state=0)
    embed(store, Projection([LABEL], [TYPE]), model, model="deployed", links=None)
    yield
    cypher(f"MATCH (n:{LABEL}) DETACH DELETE n")
    cypher("MATCH (n) WHERE (n:HeatModel AND n.name = 'deployed') OR n.model = 'deployed' DETACH DELETE n")
    for index in cypher("SHOW INDEXES YIELD name WHERE name STARTS WITH 'deployed' RETURN name"):
        cypher(f"DROP INDEX `{index['name']}`")


def assert_up_to_date(cypher, told):
    """See that the command did what it is for."""
    assert "60" in told, told
    node = published_node(cypher, "deployed")
    assert node["run"]
    assert "leaseHolder" not in node


# --- Compose ----------------------------------------------------------------------------------------------


def test_the_worker_has_no_more_rights_than_the_job_and_is_started_again():
    services = yaml(COMPOSE)["services"]
    job, worker = services["heat"], services["refresh"]
    own = {"profiles", "command", "restart", "healthcheck", "stop_grace_period"}
    assert {key: job[key] for key in job.keys() - own} == {key: worker[key] for key in worker.keys() - own}
    assert worker["restart"] == "unless-stopped"
    assert worker["profiles"] == ["scheduled"]
    assert "STOPSIGNAL SIGINT" in (DOCKER / "Dockerfile").read_text()
    assert "/tmp" in worker["tmpfs"]


@pytest.mark.parametrize(("age", "code"), [(0, 0), (240, 0), (400, 1), (None, 1)])
def test_the_worker_is_healthy_while_its_file_is_young(tmp_path, age, code):
    worker = yaml(COMPOSE)["services"]["refresh"]
    shell, line = worker["healthcheck"]["test"]
    file = tmp_path / "heat-health"
    assert shell == "CMD-SHELL"
    named = worker["command"][worker["command"].index("--health-file") + 1]
    assert named in line
    if age is not None:
        file.touch()
        os.utime(file, (file.stat().st_mtime - age,) * 2)
    line = line.replace("$$", "$").replace(named, str(file))
    assert subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False).returncode == code


def test_the_worker_is_given_options_that_there_are():
    params = parse(*yaml(COMPOSE)["services"]["refresh"]["command"]).params
    assert str(params["health_file"]) == "/tmp/heat-health"


# --- cron -------------------------------------------------------------------------------------------------


def crontab(text):
    """Return the variables, and (times, command) of the entries, of a user's crontab."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    variables = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
    entries = [line.split(maxsplit=5) for line in lines if not re.match(r"\w+=", line)]
    return variables, [(" ".join(entry[:5]), entry[5]) for entry in entries]


def test_the_crontab_has_times_that_there_are_and_lines_that_cron_leaves_alone():
    variables, entries = crontab(CRONTAB.read_text())
    assert variables["SHELL"] == "/bin/sh"
    ((times, command),) = entries
    assert "%" not in command  # cron's sign for a new line
    moments = CronSim(times, datetime(2026, 1, 1, tzinfo=UTC))
    assert [next(moments).minute for _ in range(4)] == [15, 30, 45, 0]


@pytest.mark.parametrize(
    ("code", "ends", "mailed"), [(0, 0, False), (9, 0, False), (3, 3, True), (10, 10, True)]
)
def test_cron_mails_failures_and_not_that_another_was_at_it(machine, code, ends, mailed):
    machine.program(f"echo to the log; echo this too >&2; exit {code}")
    variables, ((_, command),) = crontab(CRONTAB.read_text())
    done = machine.shell(command, **variables)
    assert done.returncode == ends
    assert done.stderr == ""
    assert bool(done.stdout) == mailed
    assert not mailed or f"exit code {code}" in done.stdout
    assert (machine.folder / "var/log/heat/refresh.log").read_text() == "to the log\nthis too\n"


@pytest.mark.slow
@pytest.mark.live
def test_the_crontab_runs(machine, server, graph, cypher):
    machine.configure(server, "uri", "username", "database", "password_file")
    variables, ((_, command),) = crontab(CRONTAB.read_text())
    done = machine.shell(command, **variables)
    told = (machine.folder / "var/log/heat/refresh.log").read_text()
    assert (done.returncode, done.stdout) == (0, ""), told
    assert_up_to_date(cypher, told)


# --- systemd ----------------------------------------------------------------------------------------------


def unit(path):
    """Return (section, directive, value) of the lines of a unit file."""
    found, section = [], None
    for line in path.read_text().splitlines():
        if not line.strip() or line[0] in "#;":
            continue
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            section = heading[1]
            continue
        directive, equals, value = line.partition("=")
        assert equals, f"{path.name}: {line!r} is no directive"
        found.append((section, directive, value))
    return found


@pytest.mark.parametrize("path", [SERVICE, TIMER])
def test_a_unit_has_directives_that_there_are(path):
    known = {part.split("]")[0]: part.split("]")[1].split() for part in DIRECTIVES.split("[")[1:]}
    assert [each[:2] for each in unit(path) if each[1] not in known.get(each[0], ())] == []


def test_the_units_keep_the_password_out_of_the_environment_and_take_9_for_success():
    values = {directive: value for _, directive, value in unit(SERVICE)}
    assert values["SuccessExitStatus"] == "9"
    assert values["Type"] == "oneshot"
    name, _, file = values["LoadCredential"].partition(":")
    assert values["ExecStart"].endswith(f"--password-file ${{CREDENTIALS_DIRECTORY}}/{name}")
    assert file == "/etc/heat/neo4j-password"
    assert "MemoryDenyWriteExecute" not in values  # the training could not be compiled
    timer = {directive: value for _, directive, value in unit(TIMER)}
    assert timer["Persistent"] == "true"
    assert "RandomizedDelaySec" in timer
    assert not re.search(r"^\w*PASSWORD", (DOCKER / "systemd" / "environment.example").read_text(), re.M)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine")
def test_systemd_takes_the_units(machine, tmp_path):
    for path in (SERVICE, TIMER):
        (tmp_path / path.name).write_text(machine.here(path.read_text()))

    def analyze(*arguments):
        return subprocess.run(
            ["systemd-analyze", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    # An unknown directive is a line on stderr and no failure.
    done = analyze("verify", f"./{SERVICE.name}", f"./{TIMER.name}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (calendar,) = [value for _, directive, value in unit(TIMER) if directive == "OnCalendar"]
    assert "*-*-* *:00/15:00" in analyze("calendar", calendar).stdout
    # In tenths: 14 by systemd 252, and 96 without any hardening.
    done = analyze("security", "--offline=yes", "--threshold=15", f"./{SERVICE.name}")
    assert done.returncode == 0, done.stdout


@pytest.mark.live
@pytest.mark.slow
def test_the_service_runs(machine, server, graph, cypher):
    machine.configure(server, "database")
    credentials = machine.folder / "credentials"
    credentials.mkdir()
    values = {directive: value for _, directive, value in unit(SERVICE)}
    name, _, file = values["LoadCredential"].partition(":")
    shutil.copy(machine.here(file), credentials / name)
    lines = (DOCKER / "systemd" / "environment.example").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if line[:1] not in ("", "#"))
    assert set(variables) == {"NEO4J_URI", "NEO4J_USERNAME", "HEAT_CONFIG"}
    variables |= {"NEO4J_URI": server.uri, "NEO4J_USERNAME": server.user}
    done = machine.shell(values["ExecStart"], CREDENTIALS_DIRECTORY=str(credentials), **variables)
    assert done.returncode == 0, done.stderr
    assert_up_to_date(cypher, done.stdout)


# --- Kubernetes -------------------------------------------------------------------------------------------


def check_manifests(*paths):
    versions = ("-k", OLDEST_KUBERNETES, "-k", "1.36")
    command = [sys.executable, "-m", "kubernetes_validate", "--strict", *versions, *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def assert_taken(*paths):
    done = check_manifests(*paths)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert told.count("passed") == 2 * len(paths), told  # an unknown kind is skipped with a warning


@pytest.fixture(scope="module")
def pod():
    return yaml(KUBERNETES / "cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_kubernetes_takes_the_manifests():
    assert_taken(*(KUBERNETES / name for name in MANIFESTS))


def test_the_check_of_manifests_notices_mistakes(tmp_path):
    broken = tmp_path / "cronjob.yaml"
    text = (KUBERNETES / "cronjob.yaml").read_text()
    for right, wrong in [("concurrencyPolicy", "concurencyPolicy"), ("backoffLimit: 2", "backoffLimit: two")]:
        assert right in text
        broken.write_text(text.replace(right, wrong))
        assert check_manifests(broken).returncode == 1


def test_the_kustomization_has_all_but_the_secret_and_the_image(pod):
    kustomization = yaml(KUBERNETES / "kustomization.yaml")
    others = ("secret.example.yaml", "kustomization.yaml", "dask.yaml")  # the last is for a cluster of Dask
    assert sorted([*kustomization["resources"], *others]) == sorted(
        path.name for path in KUBERNETES.iterdir()
    )
    (image,) = kustomization["images"]
    assert image["name"] == pod["containers"][0]["image"] == yaml(COMPOSE)["services"]["heat"]["image"]


def test_the_pod_has_no_rights(pod):
    (container,) = pod["containers"]
    users = re.findall(r"^USER (\d+)", (DOCKER / "Dockerfile").read_text(), re.M)
    assert [str(pod["securityContext"]["runAsUser"])] == users
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_pod_finds_its_configuration_and_its_password(pod, tmp_path):
    (container,) = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
    assert len(mounted) == len(volumes)
    (variable,) = container["env"]
    assert variable["name"] == "HEAT_CONFIG"
    config, secret = yaml(KUBERNETES / "configmap.yaml"), yaml(KUBERNETES / "secret.example.yaml")
    folder, _, name = variable["value"].rpartition("/")
    assert mounted[folder]["configMap"]["name"] == config["metadata"]["name"]
    (tmp_path / "heat.toml").write_text(config["data"][name])
    values = read_config(tmp_path / "heat.toml")
    folder, _, name = values["connection.password_file"].rpartition("/")
    assert mounted[folder]["secret"]["secretName"] == secret["metadata"]["name"]
    assert secret["stringData"] == {name: ""}
    claim = yaml(KUBERNETES / "cache.yaml")["metadata"]["name"]
    assert mounted["/cache"]["persistentVolumeClaim"]["claimName"] == claim
    assert "/tmp" in mounted
    limits = container["resources"]["limits"]
    assert values["heat.n_threads"] <= int(limits["cpu"])
    assert int(values["limits.memory"].removesuffix("GB")) < int(limits["memory"].removesuffix("Gi"))


def test_the_job_is_not_tried_again_where_that_is_no_use(pod):
    job = yaml(KUBERNETES / "cronjob.yaml")["spec"]
    (codes,) = (
        rule["onExitCodes"]
        for rule in job["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
        if "onExitCodes" in rule
    )
    told = exit_codes()
    hopeless = {code for code, again in told.items() if again == "no"}
    assert set(codes["values"]) == hopeless | {9}
    assert codes["containerName"] == pod["containers"][0]["name"]
    assert job["concurrencyPolicy"] == "Forbid"


def test_the_container_is_given_options_that_there_are(pod, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = pod["containers"][0]["args"]
    assert "--json" in arguments
    parse(*arguments)  # refuses what is no option


# --- Airflow ----------------------------------------------------------------------------------------------

LOAD = """
import json, sys
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:
    from airflow.models.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
(dag,) = bag.dags.values()
(task,) = dag.tasks
print(json.dumps({
    "dag": dag.dag_id, "active": dag.max_active_runs, "catchup": dag.catchup, "command": task.bash_command,
    "environment": task.env, "append": task.append_env,
    "skip": task.skip_on_exit_code, "retries": task.retries,
}))
"""


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    """A function that gives an environment with some Airflow, made once."""
    made = {}

    def environment(*what):
        if what not in made:
            made[what] = Environment.create(tmp_path_factory.mktemp("airflow") / "venv")
            made[what].install(*what)
        return made[what]

    return environment


def airflow_variables(folder, dags):
    return {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }


@pytest.mark.slow
@pytest.mark.xdist_group("airflow")
@pytest.mark.parametrize(
    "release",
    [
        AIRFLOW,
        pytest.param(
            AIRFLOW_2, marks=pytest.mark.skipif(sys.version_info >= (3, 13), reason="Airflow 2 has no 3.13")
        ),
    ],
    ids=["3", "2"],
)
def test_airflow_loads_the_dag(airflow, release, tmp_path):
    dags = tmp_path / "dags"  # not the checkout, where Python would leave its cache
    dags.mkdir()
    shutil.copy(DAG, dags)
    variables = airflow_variables(tmp_path / "home", dags)
    out = airflow(*release).run("python", "-W", "ignore", "-c", LOAD, str(dags), **variables)
    loaded = json.loads(out.splitlines()[-1])
    assert loaded == {
        "dag": "heat_refresh",
        "active": 1,
        "catchup": False,
        "command": "/opt/heat/bin/heat refresh",
        "environment": {
            "HEAT_CONFIG": "/etc/heat/heat.toml",
            "NEO4J_USERNAME": "{{ conn.heat_neo4j.login }}",
            "NEO4J_PASSWORD": "{{ conn.heat_neo4j.password }}",
        },
        "append": True,
        "skip": [9],
        "retries": 1,
    }


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.one_release
@pytest.mark.xdist_group("airflow")
def test_airflow_runs_the_dag_and_does_not_tell_the_password(
    airflow, machine, server, graph, cypher, tmp_path
):
    machine.configure(server, "uri", "database")
    dags = tmp_path / "dags"
    dags.mkdir()
    text = machine.here(DAG.read_text())
    (dags / DAG.name).write_text(text.replace("retries=1", "retries=0"))  # it would wait for the second try
    connection = {"conn_type": "generic", "login": server.user, "password": server.password}
    variables = airflow_variables(tmp_path / "home", dags) | {
        "AIRFLOW_CONN_HEAT_NEO4J": json.dumps(connection)
    }
    environment = airflow(*AIRFLOW)
    environment.run("airflow", "db", "migrate", **variables)
    done = subprocess.run(
        [environment.folder / "bin" / "airflow", "dags", "test", "heat_refresh"],
        env={**clean_variables(), **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "Command exited with return code 0" in told
    assert server.password not in told
    assert_up_to_date(cypher, told)


# --- roles ------------------------------------------------------------------------------------------------


def statements(text):
    """Return the statements of a file for cypher-shell."""
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def granted(kind):
    """Return what is granted by statements that begin with some words: the names in them."""
    found = [
        statement for statement in statements(ROLES.read_text()) if statement.startswith(f"GRANT {kind}")
    ]
    assert found
    return found


def sent(*folders):
    """Return all statements that heat sends, without comments."""
    files = [path for folder in folders for path in sorted((ROOT / "cypher" / folder).glob("*.cypher"))]
    return "\n".join(re.sub(r"//.*", "", path.read_text()) for path in files)


def test_the_role_may_write_what_heat_writes():
    text = sent("write")
    labels, types = set(re.findall(r":(Heat\w+)", text)), set(re.findall(r":(HEAT_\w+)", text))
    assert {"HeatModel", "HeatVersion", "HeatRun"} <= labels
    assert "HEAT_WRITE_LOCK" in types
    for right in ("CREATE ON", "DELETE ON", "SET PROPERTY {*}"):
        on_nodes, on_relationships = granted(right)
        assert labels <= set(re.findall(r"Heat\w+", on_nodes))
        assert types | set(WriteNames().links) <= set(re.findall(r"HEAT_\w+", on_relationships))
    (properties,) = [each for each in granted("SET PROPERTY {") if "{*}" not in each]
    named = re.findall(r"heat\w+", properties[: properties.index("}")])
    assert sorted(named) == sorted(WriteNames().properties)


def test_the_role_may_call_what_heat_calls():
    called = set(re.findall(r"CALL ((?:db|dbms)\.[\w.]+)", sent("read", "write", "query")))
    (calls,) = granted("EXECUTE PROCEDURE")
    assert called == set(re.findall(r"\b(?:db|dbms)\.[\w.]+", calls))


@pytest.fixture
def takes(server):
    """Say what the server thinks of a statement, without doing anything: "" if it is well said."""
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:

        def ask(statement):
            try:
                driver.execute_query(f"EXPLAIN {statement}", {"password": "secret12"}, database_="system")
            except ClientError as error:
                # Community parses all, and then says that it cannot do it.
                if error.code != "Neo.ClientError.Statement.UnsupportedAdministrationCommand":
                    return f"{error.code}: {error.message}"
            return ""

        yield ask


@pytest.mark.live
@pytest.mark.both_releases
def test_the_statements_of_the_role_are_cypher(takes):
    found = statements(ROLES.read_text())
    assert len(found) >= 10
    assert [told for statement in found if (told := takes(statement))] == []
    assert "SyntaxError" in takes("GRANT MATCH (*) ON GRAPH neo4j TO heat")
    assert "SyntaxError" in takes("GRANT SET PROPERTIES {a} ON GRAPH neo4j NODES * TO heat")


# --- docs/how-to/deploy.md ---------------------------------------------------------------------------------


def exit_codes():
    """Return {exit code: whether it is repeated by itself} as docs/how-to/deploy.md has it."""
    text = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]*?) ?\|", text, re.M)
    return {int(code): again for code, again in rows}


def test_the_page_on_deployment_lists_every_exit_code():
    unscheduled = errors.LocalServerError, errors.CoordinatesDiffer, errors.NotVerifiable, errors.NotReady
    known = {getattr(errors, name).exit_code for name in errors.__all__}
    known -= {error.exit_code for error in unscheduled}
    assert known | {0, 130} <= set(exit_codes())


def test_no_example_holds_a_password():
    for path in DOCKER.rglob("*"):
        if path.is_file() and path.name != ".env":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"--password[= ]", text), path
            assert not re.search(r"^\s*(?:export )?NEO4J_PASSWORD=\S", text, re.M), path


def test_the_configuration_in_the_readme_is_one(tmp_path):
    (block,) = blocks((DOCKER / "README.md").read_text(encoding="utf-8"), "toml")
    (tmp_path / "heat.toml").write_text(block)
    assert read_config(tmp_path / "heat.toml")["connection.username"] == "heat"
