"""The memory of this machine, or of the container that the process runs in."""

import re
from collections.abc import Iterator
from pathlib import Path

from heat_neo4j._utils.control_groups import control_groups, read_group_file

# Limit, usage, and the part of the usage that the kernel gives back, in version 2 and version 1.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def machine_memory(root: Path = Path("/")) -> int:
    """Return the memory of this machine in bytes, or the limit of a control group if that is less.

    `root` is the folder that holds /proc and /sys.
    """
    import psutil

    return min([int(psutil.virtual_memory().total), *(limit for limit, _ in _limits(root))])


def free_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that a program could get now, within the limits of its control groups."""
    import psutil

    free = min([int(psutil.virtual_memory().available), *(limit - used for limit, used in _limits(root))])
    return max(free, 0)


def _limits(root: Path) -> Iterator[tuple[int, int]]:
    """Yield the limit of each control group around this process, and how much of it is in use."""
    for group in control_groups("memory", root):
        for limit_name, usage_name, cache_name in _FILES:
            limit, usage = (read_group_file(group / name).strip() for name in (limit_name, usage_name))
            if limit.isdigit() and usage.isdigit():
                statistics = read_group_file(group / "memory.stat")
                cache = re.search(rf"^{cache_name} (\d+)$", statistics, re.MULTILINE)
                yield int(limit), int(usage) - (int(cache[1]) if cache else 0)
