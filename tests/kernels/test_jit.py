"""A cache of compiled code that is absent, unwritable or broken costs a compilation, never a run."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

from heat_neo4j._kernels import jit

SOURCE = """
from heat_neo4j._kernels.jit import njit

@njit(cache=True)
def add(a, b):
    return a + b
"""
PROGRAM = """
import kernel
from heat_neo4j._kernels.jit import cache_folder
print(kernel.add(1, 2), *cache_folder(kernel.add))
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


@pytest.fixture
def nowhere(tmp_path):
    """Run the kernel where neither its folder nor the user's can be written to, by whomever."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    (home / "kernel.py").write_text(SOURCE)
    (home / "__pycache__").write_text("a file where a folder would be")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": "/dev/null/none", "HOME": "/dev/null/none", "TMPDIR": str(temporary)}
    environment["PYTHONPATH"] = os.pathsep.join((str(home), str(Path(__file__).parents[2])))

    def run(**changed):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=home,
            env={**environment, **changed},
        )  # fmt: skip
        return (*done.stdout.split(), done.stderr)

    return run, temporary


def test_without_a_writable_cache_a_temporary_folder_is_used_and_logged_once(nowhere):
    run, temporary = nowhere
    for _ in range(2):
        result, path, lasts, said = run()
        mine = temporary / f"heat-neo4j-{os.geteuid()}"
        assert (result, Path(path).parent, lasts) == ("3", mine, "False")
        assert said == f"no cache folder is writable; compiled code is stored in {mine}\n"
        assert mine.stat().st_mode & 0o777 == 0o700
    assert len(list(mine.rglob("*.nbi"))) == 1


@pytest.mark.parametrize("bait", ["open to all", "a link"])
def test_code_is_not_taken_from_a_folder_that_others_can_write_to(bait, nowhere):
    run, temporary = nowhere
    mine = temporary / f"heat-neo4j-{os.geteuid()}"
    if bait == "a link":
        (temporary / "elsewhere").mkdir(mode=0o700)
        mine.symlink_to("elsewhere")
    else:
        mine.mkdir()
        mine.chmod(0o777)
    result, path, lasts, _ = run()
    assert (result, lasts) == ("3", "False")
    assert mine not in Path(path).parents
    assert temporary in Path(path).parents
    assert not any(mine.iterdir())


def test_where_there_is_no_temporary_folder_either_nothing_is_kept(folder, monkeypatch):
    (folder.parent / "__pycache__").write_text("a file where a folder would be")
    monkeypatch.setattr(config, "CACHE_DIR", "/dev/null/none")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    monkeypatch.setenv("HOME", "/dev/null/none")
    monkeypatch.setattr(jit, "_temporary_folder", lambda: None)
    assert [use(folder), use(folder)] == [0, 0]
