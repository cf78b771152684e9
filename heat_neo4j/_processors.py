"""How many processors this process may use, and what says so: its affinity, or a quota of a control group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

__all__ = ["available_processors"]


def available_processors(root: Path = Path("/")) -> tuple[int, str]:
    """Return the number of processors that threads can keep busy, and why it is that.

    The scheduler gives a process the processors of its affinity. A control group (of a container or a systemd
    unit) may allow it less time than these have: cpu.max in version 2, cpu.cfs_quota_us in version 1, of the
    group or of any group around it. Part of a processor counts as one.

    Parameters
    ----------
    root : Path
        Where /proc and /sys are.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed, why = len(os.sched_getaffinity(0)), "the processors this process may run on"
    else:
        allowed, why = os.cpu_count() or 1, "the processors of this machine"
    quota = min(_quotas(root), default=float(allowed))
    if quota < allowed:
        return max(ceil(quota), 1), f"the CPU quota of its control group, {quota:g} of {allowed} processors"
    return allowed, why


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quota, in processors, of each control group with one that this process is in."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        groups = root / "sys/fs/cgroup"
        if controllers and "cpu" not in controllers.split(","):
            continue
        if controllers:  # version 1: the folder is named for the controllers, or links to one that is
            groups /= "cpu"
        # In a container the path may be the host's, while its own group is at the top.
        own = groups / path.lstrip("/")
        for group in (own, *own.parents):
            quota, period = _quota(group)
            if quota.isdigit() and period.isdigit() and int(period) > 0:
                yield int(quota) / int(period)
            if group == groups:
                break


def _quota(group: Path) -> tuple[str, str]:
    """Return microseconds of processor time, and of the period that they are for, as they are written."""
    both = _read(group / "cpu.max").split()
    if len(both) == 2:
        return both[0], both[1]
    return _read(group / "cpu.cfs_quota_us").strip(), _read(group / "cpu.cfs_period_us").strip()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
