"""Links that the workers of a Dask cluster find: the bits of this process, whatever becomes of workers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from heat_neo4j._utils.blockwise import on_cluster
from heat_neo4j.errors import ConfigError, ConnectionFailed
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from tests.linkpred.test_link_score import clustered, some_points, weighted
from tests.linkpred.test_pattern_laws import KINDS, a_score, directed
from tests.support.dask_processes import connected, scheduler, worker


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of small graphs; how they are cut is decided in this process."""
    monkeypatch.setattr("heat_neo4j.geometry.search._ROWS_PER_REPORT", 20)
    monkeypatch.setattr("heat_neo4j.linkpred.best_scored.BLOCK_SOURCES", 25)


def searches() -> Iterator[tuple[Any, ...]]:
    """Yield points, graph, and options: with directions and types and without, by distance and by score."""
    for points, graph, score in (
        (*(made := directed()), a_score(patterns_of(made[1]), 2, KINDS["everything"])),
        (some_points(60), clustered(60), weighted(distance=1.0, common_neighbours=0.5, attributes=0.3)),
    ):
        for limits in ({"k": 3}, {"k": None, "top": 150}):
            yield points, graph, limits
            yield points, graph, {**limits, "score": score}


def assert_same(links: PredictedLinks, others: PredictedLinks) -> None:
    assert len(links) > 50
    assert links.patterns == others.patterns
    for name in ("source", "target", "distance", "probability", "pattern"):
        ours, theirs = getattr(links, name), getattr(others, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.tobytes() == theirs.tobytes(), name


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_two_workers_find_the_same_though_one_is_killed(tmp_path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with scheduler(tmp_path) as (_, file), worker(file), worker(file) as doomed, connected(file, 2) as client:

        def kill(stage: str, done: int, total: int) -> None:
            doomed.kill()

        for points, graph, options in searches():
            expected = predict_links(points, graph, **options, n_threads=1)
            found = predict_links(points, graph, **options, client=client, scratch=scratch)
            assert_same(found, expected)
            assert list(scratch.iterdir()) == []
        found = predict_links(points, graph, **options, client=client, scratch=scratch, on_progress=kill)
        assert_same(found, expected)
        assert doomed.wait(10) < 0
        assert list(scratch.iterdir()) == []


class Search:
    """Stands for a search: one block fails, another takes long."""

    def find(self, team: object, seconds: int) -> tuple[np.ndarray]:
        if seconds < 0:
            raise ZeroDivisionError("a block")
        time.sleep(seconds)
        return (np.arange(3),)


def test_an_error_or_a_lost_scheduler_is_said_and_leaves_nothing(tmp_path) -> None:
    scratch, search = tmp_path / "scratch", Search()
    scratch.mkdir()
    with scheduler(tmp_path) as (running, file), worker(file), connected(file, 1) as client:
        with pytest.raises(ZeroDivisionError, match="a block"), on_cluster(client, scratch) as workers:
            list(workers.map(search.find, [(0,), (-1,), (0,)]))
        assert list(scratch.iterdir()) == []
        lost = re.escape("the Dask scheduler was lost: start it, and repeat the command")
        with on_cluster(client, scratch) as workers:
            found = workers.map(search.find, [(0,), (60,)])
            assert next(found)[0].tolist() == [0, 1, 2]
            running.kill()
            with pytest.raises(ConnectionFailed, match=f"{lost}$"):
                next(found)
        assert list(scratch.iterdir()) == []


def test_a_cluster_needs_a_folder(tmp_path) -> None:
    with pytest.raises(ConfigError, match="needs scratch: a folder that all workers share"):
        predict_links(some_points(60), clustered(60), client=object())
    with pytest.raises(ConfigError, match="none: cannot be written: No such file"):
        predict_links(some_points(60), clustered(60), client=object(), scratch=tmp_path / "none")
