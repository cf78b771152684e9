"""All benchmarks, one after the other: ``python -m tests.benchmarks``. The exit code is 1 if a bar is missed.

Each runs in a process of its own, so that none works on the memory or the threads of another.
"""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (("throughput",), ("reading",), ("trip",), ("quality", "--live"))


def main() -> int:
    """Run all; say at the end which missed a bar."""
    missed = []
    for name, *options in BENCHMARKS:
        print(f"\n== {' '.join((name, *options))}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{name}", *options]
        if subprocess.run(command, check=False).returncode:
            missed.append(name)
    print(f"\nmissed or failed: {', '.join(missed)}" if missed else "\nall bars are reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
