"""The memory of this machine, or of the container that the process runs in."""

import re
from collections.abc import Iterator
from pathlib import Path


def control_groups(controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """Yield the folders of this process's control groups, innermost first, that may limit a controller.

    `root` is the folder that holds /proc and /sys.
    """
    for line in read_group_file(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        groups = root / "sys/fs/cgroup"
        if controllers and controller not in controllers.split(","):
            continue
        if controllers:  # version 1: the folder is named for the controllers, or links to one that is
            groups /= controller
        # In a container the path may be the host's, while its own group is at the top.
        own = groups / path.lstrip("/")
        for group in (own, *own.parents):
            yield group
            if group == groups:
                break


def read_group_file(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


# Files of limit and usage, and the statistic of reclaimable usage, in version 2 and version 1.
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
    """Return the bytes of available memory, within the limits of control groups."""
    import psutil

    free = min([int(psutil.virtual_memory().available), *(limit - used for limit, used in _limits(root))])
    return max(free, 0)


def _limits(root: Path) -> Iterator[tuple[int, int]]:
    """Yield the limit and the usage of each control group of this process."""
    for group in control_groups("memory", root):
        for limit_name, usage_name, cache_name in _FILES:
            limit, usage = (read_group_file(group / name).strip() for name in (limit_name, usage_name))
            if limit.isdigit() and usage.isdigit():
                statistics = read_group_file(group / "memory.stat")
                cache = re.search(rf"^{cache_name} (\d+)$", statistics, re.MULTILINE)
                yield int(limit), int(usage) - (int(cache[1]) if cache else 0)
