"""Whether the holder of a lease is known to be no more: only if it was a process that this one could see."""

import os
import re
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from heat_neo4j.database.publish import lease as lease_module
from heat_neo4j.database.publish.lease import _is_dead, _machine, _ours, _started, _this_process

HERE = _machine()


def holder(pid, *, host=None, machine=HERE, started="1"):
    return f"{host or socket.gethostname()}:{pid}:{machine}:{started}:0123abcd"


@pytest.fixture(scope="module")
def ended():
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_process_of_this_machine_that_ended_is_dead(ended):
    assert _is_dead(holder(ended))
    assert _is_dead(holder(ended, host="a host that was renamed since"))


@pytest.mark.parametrize("pid", ["9" * 5000, "9" * 10, "", "-1", "\u0663", "1.0"])
def test_what_is_no_id_of_a_process_here_shows_no_dead_holder(pid):
    assert not _is_dead(holder(pid, started=""))


def test_a_process_that_lives_is_not():
    parent = os.getppid()
    assert not _is_dead(holder(parent, started=_started(parent)))


def test_a_process_whose_id_another_one_has_by_now_is_dead():
    assert _is_dead(holder(os.getppid(), started="1"))
    assert _is_dead(holder(os.getpid(), started="1"))


def test_where_no_start_is_known_a_process_of_the_same_id_may_be_the_holder():
    assert not _is_dead(holder(os.getppid(), started=""))


def test_a_lease_of_this_process_is_dead_when_it_is_held_no_more():
    mine = f"{_this_process()}:0123abcd"
    assert _is_dead(mine)
    _ours.add(mine)
    try:
        assert not _is_dead(mine)
    finally:
        _ours.remove(mine)


@pytest.mark.parametrize("machine", ["", "0123456789abcdef"])
def test_of_another_host_of_the_same_name_nothing_is_known(ended, machine):
    assert not _is_dead(holder(ended, machine=machine))
    assert not _is_dead(holder(os.getpid(), machine=machine))


def test_where_the_machine_has_no_name_of_its_own_nothing_is_known(ended, monkeypatch):
    monkeypatch.setattr(lease_module, "_machine", lambda: "")
    assert not _is_dead(holder(ended, machine=""))
    assert _is_dead(f"{_this_process()}:0123abcd")  # of which this process knows


def test_two_processes_have_two_names_on_one_machine():
    program = "from heat_neo4j.database.publish.lease import _this_process; print(_this_process())"
    command = [sys.executable, "-c", program]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    mine = _this_process()
    assert re.fullmatch(r"[^:]+:\d+:[0-9a-f]{16}:\d+", mine)
    assert mine.split(":")[2] == other.split(":")[2] == HERE
    assert mine != other


@pytest.mark.parametrize(
    "damaged",
    [None, 3, "", ":", "::", "thief", f"{socket.gethostname()}:x:", "a:9" * 9, ":::::", holder("-1")],
)
def test_of_what_is_no_holder_of_ours_nothing_is_known(damaged):
    assert not _is_dead(damaged)


def test_an_absurd_process_id_is_not_looked_for():
    assert not _is_dead(holder(10**30))


def test_a_node_whose_name_is_no_model_s_is_none_of_the_models():
    rows = [
        {"id": str(place), "model": {"name": name}} for place, name in enumerate(([1], 3, None, "", "heat"))
    ]
    transaction = SimpleNamespace(run=lambda statement: SimpleNamespace(records=rows))
    assert lease_module.lock_models(transaction, "heat") == [{"name": "heat"}]
