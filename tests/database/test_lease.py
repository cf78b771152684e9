"""Whether the holder of a lease is known to be no more: only if it was a process that this one could see."""

import os
import socket
import subprocess
import sys

import pytest

from heat_neo4j.database.publish.lease import _is_dead, _ours, _processes_seen


def holder(process, host=None, token=None):
    host = socket.gethostname() if host is None else host
    return f"{host}:{process}:{_processes_seen() + 'abcd' if token is None else token}"


@pytest.fixture(scope="module")
def ended():
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_process_of_this_machine_that_ended_is_dead(ended):
    assert _is_dead(holder(ended))


def test_a_process_that_lives_is_not():
    assert not _is_dead(holder(os.getppid()))


def test_a_lease_of_this_process_is_dead_when_it_is_held_no_more():
    mine = holder(os.getpid())
    assert _is_dead(mine)
    _ours.add(mine)
    try:
        assert not _is_dead(mine)
    finally:
        _ours.remove(mine)


def test_of_other_machines_and_containers_nothing_is_known(ended):
    assert not _is_dead(holder(ended, host="elsewhere"))
    if _processes_seen():
        assert not _is_dead(holder(ended, token="1-abcd"))  # a container with the same host name


@pytest.mark.parametrize(
    "damaged", [None, 3, "", ":", "::", "thief", f"{socket.gethostname()}:x:", "a:9" * 9]
)
def test_of_what_is_no_holder_of_ours_nothing_is_known(damaged):
    assert not _is_dead(damaged)


def test_an_absurd_process_id_is_not_looked_for():
    assert not _is_dead(holder(10**30))
