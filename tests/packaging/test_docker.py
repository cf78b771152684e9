"""docker/: valid by schema, safe by default. Docker itself is not needed, so a real build is not tested."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from heat_neo4j.local_server.releases import DEFAULT_SERIES

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = DOCKER / "compose.yml"


@pytest.fixture(scope="module")
def services():
    return YAML(typ="safe").load(COMPOSE)["services"]


def check(path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_compose_follows_the_compose_specification(tmp_path):
    done = check(COMPOSE)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "compose.yml"
    broken.write_text(COMPOSE.read_text().replace("depends_on:", "depends-on:"))
    assert check(broken).returncode == 1, "the check does not notice a mistake"


def test_neo4j_is_the_same_series_and_is_reached_from_this_machine_only(services):
    neo4j = services["neo4j"]
    assert neo4j["image"] == f"neo4j:${{NEO4J_VERSION:-{DEFAULT_SERIES}}}-community"
    assert len(neo4j["ports"]) == 2
    assert all(port.startswith("127.0.0.1:") for port in neo4j["ports"])
    reports = ("NEO4J_dbms_usage__report_enabled", "NEO4J_client_allow__telemetry")
    assert [neo4j["environment"][name] for name in reports] == ["false", "false"]


def test_the_job_waits_for_neo4j_runs_once_and_has_no_rights(services):
    job = services["heat"]
    assert job["depends_on"]["neo4j"]["condition"] == "service_healthy"
    assert "healthcheck" in services["neo4j"]
    assert job["restart"] == "no"
    assert job["read_only"] is True
    assert job["cap_drop"] == ["ALL"]
    assert (DOCKER / job["build"]["context"] / job["build"]["dockerfile"]).resolve() == DOCKER / "Dockerfile"


def test_no_secret_is_shipped_and_a_missing_one_stops_compose(services):
    example = (DOCKER / "env.example").read_text()
    assert re.findall(r"^\s*(?:export )?NEO4J_PASSWORD=(.*)$", example, re.M) == [""]
    named = {name for line in example.splitlines() if (name := re.match(r"#?(NEO4J_\w+)=", line))}
    used = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    assert {match[1] for match in named} == used
    for service in services.values():
        held = [value for value in service["environment"].values() if "PASSWORD" in value]
        assert held
        assert all("${NEO4J_PASSWORD:?" in value for value in held)
    assert ".env" in (DOCKER / ".gitignore").read_text().split()


def test_the_image_is_built_from_what_there_is_and_does_not_run_as_root():
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    allowed = [
        line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"
    ]
    copied = [word for line in lines if re.match(r"COPY (?!--from)", line) for word in line.split()[1:-1]]
    assert sorted(copied) == sorted(allowed)
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    last_stage = max(place for place, line in enumerate(lines) if line.startswith("FROM "))
    assert users
    assert all(int(user) >= 1000 for user in users)
    assert any(line.startswith("USER ") for line in lines[last_stage:])
    assert 'ENTRYPOINT ["heat"]' in lines
