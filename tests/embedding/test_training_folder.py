"""Training over files: the same bits as in memory, however often the process is killed, and a clean disk."""

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from heat_neo4j import HEAT
from heat_neo4j.embedding.training_folder import TrainingFolder
from heat_neo4j.errors import ConfigError
from tests.support.file_events import before_each
from tests.support.full_disk import full_disk
from tests.support.killed import Killed
from tests.support.slow import slow
from tests.support.small_training import DIVERGING, OPTIONS, assert_same, make_graph, star


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_the_same_bits_as_in_memory_and_nothing_is_left(
    graph, in_memory, tmp_path, n_threads, eight_processors
):
    model = HEAT(**OPTIONS, n_threads=n_threads, scratch=tmp_path).fit(graph)
    assert_same(model, in_memory)
    assert model.training_["resumed"] is False
    assert list(tmp_path.iterdir()) == []


def fit_and_die(graph, scratch, n_saves, **options):
    """Begin a training that ends before a file more than so many; return its folder."""

    def die(path):
        nonlocal n_saves
        n_saves -= path.suffix == ".npy"
        if n_saves < 0:
            raise Killed

    with before_each("os.rename", die), pytest.raises(Killed):
        HEAT(**{**OPTIONS, **options}, n_threads=1, scratch=scratch).fit(graph)
    return next(path for path in scratch.iterdir() if path.is_dir())


def test_a_damaged_file_is_named_with_what_to_do(graph, in_memory, tmp_path):
    folder = fit_and_die(graph, tmp_path, 125)
    path = sorted(folder.glob("attempt0/round*/parts/*.npy"))[-1]
    path.write_bytes(path.read_bytes()[:-40])
    name = path.relative_to(folder).with_suffix("")
    with pytest.raises(ConfigError, match=f"file {name} is damaged: remove the folder to start over"):
        HEAT(**OPTIONS, n_threads=1, scratch=tmp_path).fit(graph)
    shutil.rmtree(folder)
    assert_same(HEAT(**OPTIONS, n_threads=1, scratch=tmp_path).fit(graph), in_memory)


@pytest.mark.parametrize("seed", [0, 1, *map(slow, range(2, 8))])
def test_a_training_goes_on_from_any_moment_with_the_same_bits(graph, in_memory, tmp_path, seed):
    moments, left, attempts = random.Random(seed), 0, 0

    def die(path, *mode):
        nonlocal left
        left -= path.suffix == ".npy" if not mode else path.name.startswith(".")  # files that are new
        if left < 0:
            raise Killed

    while True:
        left, attempts = moments.randrange(20, 150), attempts + 1
        model = HEAT(**OPTIONS, n_threads=1 + attempts % 2, scratch=tmp_path)
        try:
            with before_each("open" if seed % 2 else "os.rename", die):
                model.fit(graph)
        except Killed:
            continue
        break
    assert attempts > 2
    assert model.training_["resumed"]
    assert_same(model, in_memory)
    assert list(tmp_path.iterdir()) == []


DOOMED = """
import os, signal, sys
from heat_neo4j import HEAT
from heat_neo4j._utils.array_store import ArrayFolder
from tests.support.small_training import OPTIONS, make_graph

save, left = ArrayFolder.save, int(sys.argv[2])

def save_or_die(self, name, array):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, name, array)

ArrayFolder.save = save_or_die
HEAT(**{**OPTIONS, "random_state": None}, scratch=sys.argv[1]).fit(make_graph())
"""


def test_a_process_that_is_killed_leaves_what_another_goes_on_from_with_its_seed(graph, tmp_path):
    folder = fit_and_die(graph, tmp_path, 30, random_state=None)  # before all is prepared
    command = [sys.executable, "-c", DOOMED, str(tmp_path), "120"]  # in the middle of a round
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == [folder]
    model = HEAT(**{**OPTIONS, "random_state": None}, scratch=tmp_path).fit(graph)
    assert model.training_["resumed"]
    assert list(tmp_path.iterdir()) == []
    assert_same(model, HEAT(**{**OPTIONS, "random_state": model.seed_}).fit(graph))


def test_a_training_that_diverges_begins_anew_with_the_same_bits_as_in_memory(tmp_path):
    rate = {**DIVERGING, "learning_rate": 100.0}
    model = HEAT(**rate).fit(star())
    assert model.training_["learning_rate_halved"] > 0
    assert_same(HEAT(**rate, scratch=tmp_path).fit(star()), model)
    assert list(tmp_path.iterdir()) == []


def test_a_time_limit_holds_over_files_too(graph, tmp_path):
    options = {**OPTIONS, "n_epochs": 1000, "time_limit": 1.0, "scratch": tmp_path}
    model = HEAT(**options).fit(graph)
    assert 0 < model.training_["trained_share"] < 1
    assert list(tmp_path.iterdir()) == []


def test_another_graph_or_parameter_has_another_folder(graph, tmp_path):
    def die(stage, done, total):
        if stage == "train" and done:
            raise Killed

    for other, options in (
        (graph, {}),
        (graph, {"sigma": 0.9}),
        (make_graph(1), {}),
        (graph, {"n_threads": 1}),
    ):
        with pytest.raises(Killed):
            HEAT(**OPTIONS, **options, scratch=tmp_path).fit(other, on_progress=die)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 3


def test_files_are_for_their_owner_alone_and_one_process_uses_them_at_a_time(graph, tmp_path):
    seen = []

    def look(stage, done, total):
        if stage != "train" or not done:
            return
        folder = next(path for path in tmp_path.iterdir() if path.is_dir())
        seen.extend(path.stat().st_mode & 0o777 for path in folder.rglob("*.npy"))
        with pytest.raises(ConfigError, match="another process trains on the same graph"):
            HEAT(**OPTIONS, scratch=tmp_path).fit(graph)
        raise Killed

    with pytest.raises(Killed):
        HEAT(**OPTIONS, scratch=tmp_path).fit(graph, on_progress=look)
    assert set(seen) == {0o600}
    folder = next(path for path in tmp_path.iterdir() if path.is_dir())
    with FileLock(folder.with_suffix(".lock"), blocking=False):
        pass


def test_the_folder_is_made_while_the_lock_is_held(tmp_path):
    """A training that ends removes the folder, and then gives the lock to the next one."""

    def remove(path, mode):
        if path.suffix == ".lock":
            shutil.rmtree(tmp_path / "heat-x", ignore_errors=True)

    with before_each("open", remove), TrainingFolder(tmp_path, "x") as folder:
        assert folder.seed(3) == 3
        assert (tmp_path / "heat-x" / "seed.npy").exists()


def test_a_folder_that_cannot_be_is_said_at_once(graph, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ConfigError, match=r"scratch folder .*file: cannot be written: Not a directory"):
        HEAT(**OPTIONS, scratch=file).fit(graph)
    with pytest.raises(ConfigError, match=r"scratch folder .*none: cannot be written: No such file"):
        HEAT(**OPTIONS, scratch=tmp_path / "none").fit(graph)
    assert file.read_text() == "mine"


def test_a_small_graph_is_trained_by_batches_without_files(graph, tmp_path):
    model = HEAT(**{**OPTIONS, "n_parts": None}, scratch=tmp_path / "none").fit(graph)
    assert model.training_["parts"] == 1
    assert not (tmp_path / "none").exists()


def test_a_full_disk_is_said(tmp_path):
    with (
        TrainingFolder(tmp_path, "x") as folder,
        full_disk(64),
        pytest.raises(ConfigError, match="cannot be written: File too large"),
    ):
        folder.store.save("any", np.zeros(300))
