"""docker/: training on Dask by Compose, Kubernetes and Slurm, each example read by a parser of its format.

What containers and jobs run is run here, but for `heat embed`: scheduler and workers, and Slurm's jobs by an
sbatch of the test's own. Docker, the Dask operator and Slurm are not needed.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from urllib.request import urlopen

import jsonschema
import pytest
from ruamel.yaml import YAML

from tests.packaging.test_deployment import assert_taken, exit_codes, yaml
from tests.packaging.test_docker import COMPOSE, DOCKER, check
from tests.support.commands import parse
from tests.support.environments import Environment, clean_variables

DASK_COMPOSE, SLURM = DOCKER / "dask" / "compose.yml", DOCKER / "slurm" / "embed.py"
KUBERNETES = DOCKER / "kubernetes"
MANIFEST, CRONJOB = KUBERNETES / "dask.yaml", KUBERNETES / "cronjob.yaml"
OPERATOR = "dask-kubernetes==2026.3.0"
CRD = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"


@pytest.fixture(scope="module")
def services():
    return yaml(DASK_COMPOSE)["services"]


@pytest.fixture(scope="module")
def manifests():
    """{kind: manifest}."""
    return {each["kind"]: each for each in YAML(typ="safe").load_all(MANIFEST)}


@pytest.fixture(scope="module")
def pods(manifests):
    """{name of the container: the pod that it is in}."""
    spec = manifests["DaskCluster"]["spec"]
    found = (spec["scheduler"]["spec"], spec["worker"]["spec"], manifests["Job"]["spec"]["template"]["spec"])
    return {pod["containers"][0]["name"]: pod for pod in found if len(pod["containers"]) == 1}


@pytest.fixture
def free_ports():
    """Two ports of this machine that nobody listens to."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


# --- what the examples start ------------------------------------------------------------------------------


def value(text):
    """Return what Compose makes of a variable that has not been set."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text)


@contextmanager
def dask(folder, *arguments):
    """Run a command of Dask as a container does, and see that it ends when it is asked as the image says."""
    command = [sys.executable, "-m", "dask", *arguments]
    with (folder / f"{arguments[0]}.log").open("w+") as log:
        variables = {**clean_variables(), "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
        try:
            yield process
            process.send_signal(2)
            process.wait(30)
        finally:
            process.kill()


def on_this_machine(arguments, port, dashboard):
    """Return the arguments with ports that are free, and without names of other containers."""
    here = {"tcp://scheduler:8786": f"tcp://127.0.0.1:{port}", "8786": str(port), ":8787": f":{dashboard}"}
    return [here.get(value(each), value(each)) for each in arguments]


def workers_of(scheduler, worker, folder, ports):
    """Start a scheduler and a worker by the arguments of their containers; return the worker's port."""
    port, dashboard = ports
    with (
        dask(folder, *on_this_machine(scheduler, port, dashboard), "--host", "127.0.0.1"),
        dask(folder, *on_this_machine(worker, port, dashboard)),
    ):
        for _ in range(100):
            try:
                with urlopen(f"http://127.0.0.1:{dashboard}/health", timeout=3) as answer:
                    assert answer.read() == b"ok"
                with urlopen(f"http://127.0.0.1:{dashboard}/info/main/workers.html", timeout=3) as answer:
                    named = re.findall(r"tcp://127\.0\.0\.1:(\d+)", answer.read().decode())
                    if found := set(named) - {str(port)}:
                        return found
            except OSError:
                pass
            time.sleep(0.2)
    raise AssertionError((folder / "worker.log").read_text())


@pytest.mark.slow
def test_the_scheduler_and_workers_of_compose_run(services, tmp_path, free_ports):
    scheduler, worker = services["scheduler"], services["worker"]
    assert scheduler["entrypoint"] == worker["entrypoint"] == ["dask"]
    assert workers_of(scheduler["command"], worker["command"], tmp_path, free_ports)
    (published,) = scheduler["ports"]
    assert published.startswith("127.0.0.1:")
    assert published.endswith(":8787")


@pytest.mark.slow
def test_the_scheduler_and_workers_of_kubernetes_run(pods, tmp_path, free_ports):
    scheduler, worker = (pods[name]["containers"][0] for name in ("scheduler", "worker"))
    assert scheduler["command"] == worker["command"] == ["dask"]
    # The operator gives the address by DASK_SCHEDULER_ADDRESS.
    arguments = [each.replace("$(DASK_WORKER_NAME)", "one") for each in worker["args"]]
    assert workers_of(scheduler["args"], [*arguments, "tcp://scheduler:8786"], tmp_path, free_ports)


# --- Compose ----------------------------------------------------------------------------------------------


def test_compose_follows_the_compose_specification(tmp_path):
    done = check(DASK_COMPOSE)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "compose.yml"
    broken.write_text(DASK_COMPOSE.read_text().replace("depends_on:", "depends-on:"))
    assert check(broken).returncode == 1, "the check does not notice a mistake"


def test_both_files_of_compose_fit_together(services):
    base = yaml(COMPOSE)
    assert not services.keys() & base["services"].keys()
    volumes = {mount.split(":")[0] for each in services.values() for mount in each.get("volumes", ())}
    assert volumes == yaml(DASK_COMPOSE)["volumes"].keys()
    assert "heat-cache" in base["volumes"]
    for service in services.values():
        for name, needed in service.get("depends_on", {}).items():
            other = (services | base["services"])[name]
            assert needed["condition"] != "service_healthy" or "healthcheck" in other
            # Compose starts none of a profile that is not asked for, whoever depends on it.
            assert set(service["profiles"]) <= set(other.get("profiles", service["profiles"]))
        build = service["build"]
        # Paths are relative to the folder of the first file.
        assert (DOCKER / build["context"] / build["dockerfile"]).resolve() == DOCKER / "Dockerfile"
        assert build["args"] == {"EXTRAS": "distributed"}
        assert service["image"] == "heat-neo4j-dask"
    assert "ARG EXTRAS" in (DOCKER / "Dockerfile").read_text()


def test_only_the_job_knows_the_password_and_reaches_neo4j(services):
    for name, service in services.items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "/tmp" in service["tmpfs"]
        assert ("environment" in service) == ("default" in service["networks"]) == (name == "embed")
        assert all(
            port.startswith("127.0.0.1:") and not port.endswith(":8786") for port in service.get("ports", ())
        )
    job = services["embed"]
    assert job["environment"]["NEO4J_PASSWORD"].startswith("${NEO4J_PASSWORD:?")
    assert job["environment"].keys() == yaml(COMPOSE)["services"]["heat"]["environment"].keys()
    assert job["restart"] == "no"


def test_every_variable_is_in_the_example(services):
    example = (DOCKER / "env.example").read_text()
    named = dict(re.findall(r"^#(DASK_\w+)=(.*)$", example, re.M))
    used = dict(re.findall(r"\$\{(DASK_\w+):-(.*?)\}", DASK_COMPOSE.read_text()))
    assert named == used
    assert value(services["worker"]["deploy"]["replicas"]) == "2"


def test_workers_and_the_job_share_a_folder_that_the_user_of_the_image_owns(services, pods):
    (line,) = [each for each in (DOCKER / "Dockerfile").read_text().splitlines() if "--owner=heat" in each]
    owned = set(line.partition("--owner=heat")[2].split())
    for name in ("worker", "embed"):
        mounted = {mount.split(":")[1] for mount in services[name]["volumes"]}
        assert mounted == owned == {"/cache", "/parts"}
    scratch = {arguments[arguments.index("--scratch") + 1] for arguments in jobs(services, pods)}
    assert scratch == {"/parts"}
    for name in ("worker", "heat"):
        (container,) = pods[name]["containers"]
        assert {mount["mountPath"] for mount in container["volumeMounts"]} >= owned


def jobs(services, pods):
    """Return the arguments of both jobs."""
    return services["embed"]["command"], pods["heat"]["containers"][0]["args"]


def test_the_jobs_are_given_options_that_there_are(services, pods):
    for arguments in jobs(services, pods):
        found = parse(*arguments).params
        assert str(found["scratch"]) == "/parts"
        assert found["scheduler"].endswith(":8786")


# --- Kubernetes -------------------------------------------------------------------------------------------


def test_kubernetes_takes_the_manifests(manifests, tmp_path):
    spec = manifests["DaskCluster"]["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    service = {**pod, "kind": "Service", "spec": spec["scheduler"]["service"]}
    made = [{**pod, "spec": spec[part]["spec"]} for part in ("scheduler", "worker")]
    plain = [each for kind, each in manifests.items() if kind != "DaskCluster"]
    assert len(plain) == 3
    for number, each in enumerate([*plain, *made, service]):
        (tmp_path / f"{number}.yaml").write_text(json.dumps(each))
    assert_taken(*tmp_path.iterdir())


def strict(schema):
    """Return the schema with no other fields than it names, as the API server has it on request."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(each) for key, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """The operator's own schema of a DaskCluster, strictly."""
    environment = Environment.create(tmp_path_factory.mktemp("operator") / "venv")
    environment.install("--no-deps", OPERATOR)
    (path,) = environment.folder.glob(f"lib/*/site-packages/{CRD}")
    definition = yaml(path)["spec"]
    (version,) = definition["versions"]
    assert (definition["group"], version["name"]) == ("kubernetes.dask.org", "v1")
    found = strict(version["schema"]["openAPIV3Schema"])
    # What every resource has.
    found["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
    return found


@pytest.mark.slow
def test_the_operator_takes_the_cluster(manifests, schema):
    cluster = manifests["DaskCluster"]
    assert cluster["apiVersion"] == "kubernetes.dask.org/v1"
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(cluster)] == []
    worker = cluster["spec"]["worker"]
    for wrong in (
        {**worker, "replicas": "eight"},
        {**worker, "replica": 8},
        {**worker, "spec": {"containers": [{**worker["spec"]["containers"][0], "arg": []}]}},
        {**worker, "spec": {"container": worker["spec"]["containers"]}},
    ):
        broken = deepcopy(cluster)
        broken["spec"]["worker"] = wrong
        assert not validator.is_valid(broken)


def test_the_pods_have_no_rights_and_only_the_job_the_password(pods):
    assert pods.keys() == {"scheduler", "worker", "heat"}
    (cronjob,) = YAML(typ="safe").load_all(CRONJOB)
    base = cronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for name, pod in pods.items():
        (container,) = pod["containers"]
        assert pod["securityContext"] == base["securityContext"]
        assert container["securityContext"] == base["containers"][0]["securityContext"]
        assert pod["automountServiceAccountToken"] is False
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes.keys() == {mount["name"] for mount in container["volumeMounts"]}
        assert ("password" in volumes) == ("config" in volumes) == (name == "heat")
        assert container["image"].startswith("registry.example.org/heat-neo4j-dask:")  # test_version.py
        assert container["image"] in MANIFEST.read_text().partition("apiVersion")[0]
    for volume in ("config", "password"):
        assert [each for each in pods["heat"]["volumes"] if each["name"] == volume] == [
            each for each in base["volumes"] if each["name"] == volume
        ]
    assert pods["heat"]["containers"][0]["env"] == base["containers"][0]["env"]


def test_the_job_reaches_the_scheduler_and_nobody_else_does(manifests, pods):
    cluster, job, policy = (manifests[kind] for kind in ("DaskCluster", "Job", "NetworkPolicy"))
    arguments = pods["heat"]["containers"][0]["args"]
    service = cluster["spec"]["scheduler"]["service"]
    name = cluster["metadata"]["name"]
    # As the operator calls the scheduler.
    assert arguments[arguments.index("--scheduler") + 1] == f"tcp://{name}-scheduler:8786"
    assert service["selector"] == {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
    named = {port["name"]: port["containerPort"] for port in pods["scheduler"]["containers"][0]["ports"]}
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == named
    labels = cluster["metadata"]["labels"]
    assert (
        job["spec"]["template"]["metadata"]["labels"]
        == policy["spec"]["podSelector"]["matchLabels"]
        == labels
    )
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": labels}}]}]


def test_all_pods_share_a_volume_and_the_job_is_not_tried_again_where_that_is_no_use(manifests, pods):
    claim = manifests["PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for name in ("worker", "heat"):
        (volume,) = [each for each in pods[name]["volumes"] if each["name"] == "parts"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    rules = manifests["Job"]["spec"]["podFailurePolicy"]["rules"]
    (codes,) = [rule["onExitCodes"] for rule in rules if "onExitCodes" in rule]
    assert set(codes["values"]) == {code for code, again in exit_codes().items() if again == "no"} | {9}


# --- Slurm ------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
from runpy import run_path
if __name__ == "__main__":
    example = run_path(sys.argv[1])
    with example["cluster_of"](example["options"](sys.argv[2:])) as cluster:
        print(cluster.job_script())
"""
WORK = """
import os, sys
from pathlib import Path
from runpy import run_path
from distributed import Client
def name(folder):
    Path(folder, str(os.getpid())).touch()
    return os.getpid(), os.environ["NUMBA_CACHE_DIR"], "NEO4J_PASSWORD" in os.environ
if __name__ == "__main__":
    example = run_path(sys.argv[1])
    chosen = example["options"](sys.argv[2:])
    with example["cluster_of"](chosen) as cluster, Client(cluster) as client:
        cluster.scale(jobs=chosen.jobs)
        client.wait_for_workers(chosen.jobs * chosen.cores, timeout=90)
        told = client.run(name, str(chosen.folder))
        print(len(told), {each[1:] for each in told.values()} == {(f"{chosen.folder}/cache", False)})
"""
SBATCH = """#!/bin/sh
job="$(mktemp "$1.XXXX")" && cp "$1" "$job" # the caller removes its file
setsid env -i PATH="$PATH" HOME="$HOME" bash "$job" > "$(dirname "$0")/job.log" 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -- "-$1"
"""


def slurm(folder, code, *arguments):
    """Run code with the example, and with programs that stand for Slurm's; return what it prints."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "code.py").write_text(code)
    needed = ("--folder", str(folder / "shared"), "--label", "Paper", "--relationship", "CITES")
    variables = {
        **clean_variables(),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "NEO4J_PASSWORD": "secret12",
        "DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__ADDRESS": ":0",
    }
    (folder / "shared").mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "code.py", str(SLURM), *needed, *arguments],
        cwd=folder, env=variables, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_job_of_slurm_is_a_script_with_one_process_for_each_core(tmp_path):
    asked = (
        "--cores",
        "8",
        "--memory",
        "32GB",
        "--walltime",
        "02:00:00",
        "--partition",
        "cpu",
        "--account",
        "me",
    )
    script = slurm(tmp_path, SCRIPT, *asked)
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    directives = re.findall(r"^#SBATCH (.*)$", script, re.M)
    assert {"-n 1", "--cpus-per-task=8", "-t 02:00:00", "-p cpu", "-A me", "--export=NONE"} <= set(directives)
    assert [each for each in directives if each.startswith("--mem=")] == ["--mem=30G"]
    (command,) = [line for line in script.splitlines() if "distributed.cli.dask_worker" in line]
    assert "--nthreads 1 " in command
    assert "--nworkers 8 " in command
    assert "secret12" not in script
    assert f"export NUMBA_CACHE_DIR={tmp_path}/shared/cache" in script


@pytest.mark.slow
def test_the_jobs_of_slurm_become_workers_that_see_the_folder_and_not_the_password(tmp_path):
    assert shutil.which("setsid") is not None
    told = slurm(tmp_path, WORK, "--jobs", "2", "--cores", "2", "--memory", "2GB")
    assert told.split() == ["4", "True"]
    assert len([path for path in Path(tmp_path, "shared").iterdir() if path.name.isdigit()]) == 4
