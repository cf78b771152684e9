"""Arrays under names, in memory and in a folder: the same, whole or not there."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from heat_neo4j._utils.array_store import ArrayFolder, ArraysInMemory, keep, load_tuple
from heat_neo4j.errors import ConfigError
from tests.support.full_disk import full_disk


@pytest.fixture(params=["memory", "folder"])
def store(request, tmp_path):
    return ArraysInMemory() if request.param == "memory" else ArrayFolder(tmp_path)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.zeros((0, 5)),
        np.array([2**63], dtype=np.uint64),
        np.array([True, False]),
        np.array("text"),
        np.float64(0.1),
    ],
)
def test_what_was_saved_is_loaded_to_the_bit_and_may_be_written_to(store, array):
    assert not store.has("a/b")
    store.save("a/b", array)
    for _ in range(2):
        loaded = store.load("a/b")
        assert type(loaded) is np.ndarray
        assert (loaded.dtype, loaded.shape) == (array.dtype, np.shape(array))
        assert loaded.tobytes() == array.tobytes()
        assert loaded.flags.writeable
    assert store.has("a/b")


def test_what_is_written_to_a_loaded_array_of_a_folder_stays_here(tmp_path):
    store = ArrayFolder(tmp_path)
    store.save("a", np.zeros(10_000))
    store.load("a")[:] = 1.0
    assert not store.load("a").any()


def test_dropping_a_name_drops_what_lies_below_it_and_nothing_else(store):
    for name in ("a", "a/b", "a/c/d", "ab", "b"):
        store.save(name, 1)
    store.drop("a/c")
    assert [store.has(name) for name in ("a", "a/b", "a/c/d", "ab")] == [True, True, False, True]
    store.drop("a")
    assert [store.has(name) for name in ("a", "a/b", "ab", "b")] == [False, False, True, True]
    store.drop("none")
    with pytest.raises((KeyError, ConfigError), match="a/b"):
        store.load("a/b")


def test_a_write_that_stops_half_way_leaves_what_was_there_and_no_file(tmp_path):
    store = ArrayFolder(tmp_path)
    store.save("a", np.zeros(3))
    for name in ("a", "b"):
        with full_disk(1000), pytest.raises(ConfigError, match="File too large"):
            store.save(name, np.ones(1000))
    assert store.load("a").tolist() == [0.0, 0.0, 0.0]
    assert not store.has("b")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_bytes(b""), "is damaged: remove the folder"),
        (lambda path: path.write_bytes(path.read_bytes()[:20]), "is damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-8]), "is damaged"),
        (lambda path: flip_bit(path, 40), "is damaged"),
        (lambda path: flip_bit(path, -1), "is damaged"),
        (lambda path: path.with_stem("b").replace(path), "is damaged"),
        (lambda path: path.unlink(), "cannot be read: No such file"),
    ],
    ids=["empty", "start", "most", "bit", "digest", "other", "gone"],
)
def test_a_damaged_file_is_named(tmp_path, damage, words):
    store, other = ArrayFolder(tmp_path), ArrayFolder(tmp_path)
    store.save("a", np.arange(9))
    store.save("b", np.arange(9))
    other.load("a")
    damage(next(tmp_path.glob("a.*")))
    with pytest.raises(ConfigError, match=f"^scratch folder .*: file a {words}"):
        other.load("a")


def flip_bit(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def test_a_folder_that_is_gone_is_not_made_again(tmp_path):
    """A task may outlive its folder."""
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        ArrayFolder(tmp_path / "gone").save("a", 1)
    assert not (tmp_path / "gone").exists()


class Some(NamedTuple):
    values: np.ndarray
    count: int
    key: np.uint64


def test_a_tuple_is_kept_field_by_field(store):
    kept = keep(store, "some", Some(np.arange(3), 4, np.uint64(2**63 + 1)))
    again = load_tuple(store, "some", Some)
    for each in (kept, again):
        assert each.values.tolist() == [0, 1, 2]
        assert (each.count, each.key, each.key.dtype) == (4, 2**63 + 1, np.uint64)
    assert store.has("some")


def test_threads_load_at_the_same_time(tmp_path):
    """Even where each is interrupted while it reads a header, by the garbage collector's callbacks."""
    store, thresholds = ArrayFolder(tmp_path), gc.get_threshold()
    store.save("a", np.arange(6).reshape(2, 3))

    def let_others_run(phase, info):
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    gc.set_threshold(5)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(lambda _: store.load("a").sum(), range(300))) == {15}
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(let_others_run)
