"""Embed a graph of Neo4j on a Slurm cluster, and publish it: one training process for each core of each job.

::

    python embed.py --folder /shared/heat --jobs 4 --cores 8 --memory 32GB --label Paper --relationship CITES

It runs where ``sbatch`` is, on a node that reaches Neo4j and that the jobs' nodes reach: Dask's scheduler is
part of it. It needs

- heat with its extra ``distributed``, and ``dask-jobqueue``, in an environment from which it is started, and
  that all nodes see under the same path;
- a folder that all nodes see under the same path (``--folder``), the quicker the better;
- NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD in its environment; the jobs do not get them.

How many processes are worth it, and how quick the folder must be, is in docs/how-to/larger-than-memory.md.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from dask_jobqueue import SLURMCluster
from distributed import Client

from heat_neo4j import HEAT, connect


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="that all nodes share")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cores", type=int, required=True, help="of each job")
    parser.add_argument("--memory", required=True, help="of each job, such as 32GB")
    parser.add_argument("--walltime", default="08:00:00")
    parser.add_argument("--partition")
    parser.add_argument("--account")
    parser.add_argument("--interface", help="network between the nodes, such as ib0")
    parser.add_argument("--label", action="append", required=True)
    parser.add_argument("--relationship", action="append", required=True)
    parser.add_argument("--key", help="property that orders nodes, so that a seed gives the same bits")
    return parser.parse_args(arguments)


def cluster_of(chosen: argparse.Namespace) -> SLURMCluster:
    """Return a cluster without workers; each job that it is scaled to has a process for each core."""
    folder = shlex.quote(str(chosen.folder))
    return SLURMCluster(
        cores=chosen.cores,
        processes=chosen.cores,
        memory=chosen.memory,
        walltime=chosen.walltime,
        queue=chosen.partition,
        account=chosen.account,
        interface=chosen.interface,
        job_name="heat-embed",
        log_directory=str(chosen.folder / "logs"),
        job_extra_directives=["--export=NONE"],  # the password stays here
        job_script_prologue=[f"export NUMBA_CACHE_DIR={folder}/cache"],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the graph, train on the jobs as they come, publish."""
    chosen = options(arguments)
    with cluster_of(chosen) as cluster, Client(cluster) as client:
        cluster.scale(jobs=chosen.jobs)
        with connect() as db:
            graph = db.project(chosen.label, chosen.relationship, key=chosen.key, scratch=chosen.folder)
            client.wait_for_workers(1)
            model = HEAT(random_state=0, scratch=chosen.folder, scheduler=client.scheduler.address)
            model.fit(graph)
            db.publish(graph, model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
