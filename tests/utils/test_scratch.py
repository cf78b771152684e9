"""Arrays in memory and in files are the same; of files nothing is to be seen, whatever happens."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from heat_neo4j._utils.scratch import IN_MEMORY, Scratch, slices
from heat_neo4j.errors import ConfigError
from tests.support.full_disk import full_disk

PAIR = np.dtype([("a", np.int32), ("b", np.float64)])


def made(scratch):
    with scratch:
        zeros = scratch.zeros((3, 2))
        zeros[1] = 7.0
        growing = scratch.growing(np.int32)
        for part in (np.arange(5), np.empty(0), np.arange(70_000)):
            growing.append(part)
        blocks = scratch.blocks(PAIR)
        for number in (4, 0, 4):
            blocks.add(number, np.array([(number, 0.5)] * (number + 1), dtype=PAIR))
        arrays = [zeros, growing.finish(), blocks.take(4), blocks.take(0), blocks.take(4), blocks.take(9)]
        blocks.add(1, arrays[3])
        arrays += [*blocks.pieces(1), scratch.growing(np.float64).finish(), scratch.zeros((0, 4))]
    return arrays


def test_files_hold_what_memory_holds_and_nothing_is_seen_of_them(tmp_path):
    for one, other in zip(made(IN_MEMORY), made(Scratch(tmp_path)), strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_nothing(tmp_path):
    program = (
        "import sys, numpy as np; from heat_neo4j._utils.scratch import Scratch\n"
        "scratch = Scratch(sys.argv[1]); one = scratch.growing(np.int64); one.append(np.arange(9))\n"
        "two = scratch.zeros((9, 9)); print('made', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout.readline() == b"made\n"
        child.kill()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    for make in (lambda each: each.zeros((2,)), lambda each: each.growing(np.int32)):
        with pytest.raises(ConfigError, match=r"scratch folder .*nowhere: cannot be written: No such file"):
            make(Scratch(tmp_path / "nowhere"))


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot set space aside")
def test_the_space_of_an_array_is_set_aside_before_a_page_is_written(tmp_path):
    array = Scratch(tmp_path).zeros((100_000,))
    files = [each for each in Path("/proc/self/fd").iterdir() if str(tmp_path) in os.path.realpath(each)]
    assert 512 * max(each.stat().st_blocks for each in files) >= array.nbytes


def test_a_full_disk_is_an_error_before_a_page_is_written(tmp_path):
    with full_disk(16), pytest.raises(ConfigError, match="File too large"):
        Scratch(tmp_path).zeros((9,))


def test_slices_cover_everything_once():
    for length, width in ((0, 3), (5, 1), (300_000, 7), (2, 2**30)):
        rows = [row for part in slices(length, width) for row in range(part.start, part.stop)]
        assert rows == list(range(length))
