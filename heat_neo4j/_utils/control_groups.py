"""The control groups of this process, of version 1 and of version 2."""

from collections.abc import Iterator
from pathlib import Path


def control_groups(controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """Yield the folders of the groups around this process in which a controller may have limits.

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
    """Return the text of a file; none if it cannot be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
