"""The processors a process may use, by its affinity and by the quotas of control groups of both versions."""

import os

import pytest

from heat_neo4j._utils.threads import available_processors

ALL = len(os.sched_getaffinity(0))


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense"},
        {
            "proc/self/cgroup": "1:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000000 100000\n"},
    ],
)
def test_without_a_quota_the_affinity_counts(tmp_path, files):
    write(tmp_path, files)
    assert available_processors(tmp_path) == (ALL, "the processors this process may run on")


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, "0.5"),
        (
            {"proc/self/cgroup": "0::/a.slice/b\n", "sys/fs/cgroup/a.slice/cpu.max": "75000 100000\n",
             "sys/fs/cgroup/a.slice/b/cpu.max": "max 100000\n"},
            "0.75",
        ),
        (
            {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "90000 100000\n",
             "sys/fs/cgroup/a/b/cpu.max": "20000 100000\n"},
            "0.2",
        ),
        (
            {"proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/docker/1\n0::/\n",
             "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "60000\n",
             "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
             "sys/fs/cgroup/memory/x/cpu.cfs_quota_us": "1\n"},
            "0.6",
        ),
    ],
)  # fmt: skip
def test_the_smallest_quota_around_a_process_counts(tmp_path, files, quota):
    write(tmp_path, files)
    assert available_processors(tmp_path) == (
        1,
        f"the CPU quota of its control group, {quota} of {ALL} processors",
    )


@pytest.mark.skipif(ALL < 2, reason="part of a second processor needs two")
def test_part_of_a_processor_counts_as_one(tmp_path):
    write(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "110000 100000\n"})
    assert available_processors(tmp_path)[0] == 2
