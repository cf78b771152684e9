"""A cache of compiled code that is absent, unwritable or broken costs a compilation, never a run."""

import importlib.util

import pytest
from numba.core import config

SOURCE = """
from heat_neo4j._kernels.jit import njit

@njit(cache=True)
def add(a, b):
    return a + b
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A module with a kernel, and a cache folder beside it."""
    (tmp_path / "kernel.py").write_text(SOURCE)
    cache = tmp_path / "cache"
    monkeypatch.setattr(config, "CACHE_DIR", str(cache))
    return cache


def use(folder):
    """Import the module anew, as another process would; return the times its code came from the cache."""
    spec = importlib.util.spec_from_file_location("kernel", folder.parent / "kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.add(1, 2) == 3
    return sum(module.add.stats.cache_hits.values())


def files(folder, ending):
    (found,) = folder.rglob(f"*.{ending}")
    return found


def test_intact_files_are_used(folder):
    assert [use(folder), use(folder)] == [0, 1]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("spoil", ["empty", "one byte", "half", "all but one", "noise", "gone", "folder"])
def test_a_broken_file_is_written_anew(ending, spoil, folder):
    use(folder)
    file = files(folder, ending)
    content = file.read_bytes()
    kept = {"empty": 0, "one byte": 1, "half": len(content) // 2, "all but one": len(content) - 1}
    if spoil in kept:
        file.write_bytes(content[: kept[spoil]])
    elif spoil == "noise":
        file.write_bytes(bytes(range(256)))
    else:
        file.unlink()
    if spoil == "folder":
        file.mkdir()
    assert use(folder) == 0
    if spoil != "folder":
        assert use(folder) == 1


def test_a_folder_that_vanishes_costs_nothing_but_time(folder):
    use(folder)
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert use(folder) == 0


def test_without_a_writable_folder_nothing_is_kept(folder, monkeypatch):
    (folder.parent / "__pycache__").write_text("a file where a folder would be")
    monkeypatch.setattr(config, "CACHE_DIR", "/dev/null/none")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    monkeypatch.setenv("HOME", "/dev/null/none")
    assert [use(folder), use(folder)] == [0, 0]
