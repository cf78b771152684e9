"""Training on a Dask cluster: the bits of this process, whatever becomes of workers and scheduler."""

import sys
from threading import Timer

import dask
import pytest

from heat_neo4j import HEAT
from heat_neo4j.errors import ConfigError, ConnectionFailed
from tests.support.dask_processes import connected, scheduler, worker
from tests.support.small_training import OPTIONS, assert_same


def folders(tmp_path):
    (tmp_path / "scratch").mkdir(exist_ok=True)
    return tmp_path / "scratch"


@pytest.mark.slow
def test_the_same_bits_on_two_workers_of_which_one_is_killed_and_one_joins(graph, in_memory, tmp_path):
    scratch = folders(tmp_path)
    with scheduler(tmp_path) as (_, file), worker(file), worker(file) as doomed, connected(file, 2) as client:
        Timer(1.0, doomed.kill).start()
        model = HEAT(**OPTIONS, scratch=scratch, scheduler=client.scheduler.address).fit(graph)
        assert_same(model, in_memory)
        assert sum(model.training_["workers"].values()) > 50
        assert list(scratch.iterdir()) == []
        other = {**OPTIONS, "random_state": None}  # so that folders have one name
        drawn = [
            HEAT(**other, scratch=scratch, scheduler=client.scheduler.address).fit(graph) for _ in range(2)
        ]
        for each in drawn:
            assert_same(each, HEAT(**{**other, "random_state": each.seed_}).fit(graph))
        with worker(file):
            client.wait_for_workers(2, timeout=60)
            named = HEAT(**OPTIONS, scratch=scratch, scheduler=client.scheduler.address).fit(graph)
        assert_same(named, in_memory)
        assert len(named.training_["workers"]) == 2
        assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_said_and_the_training_goes_on_with_another(graph, in_memory, tmp_path):
    scratch = folders(tmp_path)
    with scheduler(tmp_path) as (running, file), worker(file), connected(file, 1) as client:

        def kill(stage, done, total):
            if stage == "train" and done > total // 3:
                running.kill()

        with pytest.raises(ConnectionFailed, match="the Dask scheduler was lost: start it, and repeat"):
            HEAT(**OPTIONS, scratch=scratch, scheduler=client.scheduler.address).fit(graph, on_progress=kill)
    assert any(scratch.iterdir())
    with scheduler(tmp_path) as (_, file), worker(file), connected(file, 1) as client:
        model = HEAT(**OPTIONS, scratch=scratch, scheduler=client.scheduler.address).fit(graph)
    assert model.training_["resumed"]
    assert_same(model, in_memory)
    assert list(scratch.iterdir()) == []


def test_a_cluster_needs_a_folder_and_an_address_that_answers(graph, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="`scheduler` needs `scratch`"):
        HEAT(**OPTIONS, scheduler="tcp://127.0.0.1:9").fit(graph)
    with dask.config.set({"distributed.comm.timeouts.connect": "100ms"}):
        for address, error in (("tcp://127.0.0.1:9", ConnectionFailed), ("nothing://there", ConfigError)):
            with pytest.raises(error, match=address):
                HEAT(**OPTIONS, scratch=tmp_path, scheduler=address).fit(graph)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"pip install 'heat-neo4j\[distributed\]'"):
        HEAT(**OPTIONS, scratch=tmp_path, scheduler="tcp://127.0.0.1:9").fit(graph)
