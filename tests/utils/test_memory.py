"""The memory that a process may use: of the machine, or of control groups of both versions around it."""

import psutil
import pytest

from heat_neo4j._utils.memory import free_memory, machine_memory

MIB = 1 << 20
VERSION_2 = "sys/fs/cgroup/"
VERSION_1 = "sys/fs/cgroup/memory/"


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def version_2(folder, limit, usage, inactive=0):
    return {
        f"{VERSION_2}{folder}memory.max": limit,
        f"{VERSION_2}{folder}memory.current": usage * MIB,
        f"{VERSION_2}{folder}memory.stat": f"anon 1\ninactive_file {inactive * MIB}\nactive_file {7 * MIB}",
    }


def version_1(folder, limit, usage, inactive=0):
    return {
        f"{VERSION_1}{folder}memory.limit_in_bytes": limit,
        f"{VERSION_1}{folder}memory.usage_in_bytes": usage * MIB,
        f"{VERSION_1}{folder}memory.stat": f"inactive_file 0\ntotal_inactive_file {inactive * MIB}",
    }


@pytest.mark.parametrize(
    ("own", "files", "limit", "free"),
    [
        ("0::/", version_2("", 100 * MIB, 60), 100, 40),
        ("0::/", version_2("", 100 * MIB, 95, inactive=30), 100, 35),
        ("0::/", version_2("", 100 * MIB, 130), 100, 0),
        ("0::/a/b", version_2("a/", 90 * MIB, 70) | version_2("a/b/", 80 * MIB, 10), 80, 20),
        ("0::/a/b", version_2("a/", 90 * MIB, 20) | version_2("a/b/", "max", 10), 90, 70),
        ("0::/of/the/host", version_2("", 100 * MIB, 60), 100, 40),
        ("4:memory:/x\n1:cpu:/\n0::/", version_1("x/", 64 * MIB, 60, inactive=50), 64, 54),
        ("4:hugetlb,memory:/docker/1", version_1("", 64 * MIB, 60), 64, 4),
    ],
)
def test_the_least_limit_of_the_control_groups_counts(tmp_path, own, files, limit, free):
    write(tmp_path, {"proc/self/cgroup": own, **files})
    assert machine_memory(tmp_path) == limit * MIB
    assert free_memory(tmp_path) == free * MIB


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/", **version_2("", "max", 60)},
        {"proc/self/cgroup": "0::/", **version_2("", "nonsense", 60)},
        {"proc/self/cgroup": "4:memory:/", **version_1("", 2**63 - 4096, 60)},
        {"proc/self/cgroup": "4:cpu:/", **version_1("", 64 * MIB, 60)},
    ],
)
def test_without_a_limit_the_memory_of_the_machine_counts(tmp_path, files):
    write(tmp_path, files)
    assert machine_memory(tmp_path) == psutil.virtual_memory().total
    assert 64 * MIB < free_memory(tmp_path) <= psutil.virtual_memory().total
