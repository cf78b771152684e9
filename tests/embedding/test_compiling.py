"""The first training on a machine compiles, and says so; later ones do not."""

import os
import subprocess
import sys

import pytest

from heat_neo4j._utils.threads import available_processors
from heat_neo4j.embedding import compiling
from heat_neo4j.embedding.compiling import COMPILING

FIT = """
import numpy as np
from scipy import sparse
from heat_neo4j import HEAT, Graph
told = []
ring = sparse.csr_array(np.roll(np.eye(40), 1, axis=1))
model = HEAT(2, walks_per_node=1, n_threads=2, random_state=0)
model.fit(Graph(adjacency=ring), on_progress=lambda *call: told.append(call))
print([call[1:] for call in told if call[0] == {stage!r}], "compile" in model.training_["seconds"])
"""


def test_what_is_compiled_is_not_compiled_again():
    told = []
    assert not compiling.make_ready(lambda *call: told.append(call))
    assert told == []


@pytest.mark.slow
def test_only_the_first_training_on_a_machine_compiles(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", FIT.format(stage=COMPILING)]
    first, second = (
        subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    )
    assert first == "[(0, 1), (1, 1)] True"
    assert second == "[] False"


REST = """
import sys
{before}
from heat_neo4j.embedding import compiling
compiling.begin_compiling()
assert len(compiling._processes) == {processes}
for each in compiling._processes:
    each.wait()
from numba.core import event
compiled = []

class Listener(event.Listener):
    def on_start(self, started):
        compiled.append(started.data["dispatcher"].py_func.__name__)

    def on_end(self, ended):
        pass

event.register("numba:compile", Listener())
compiling.make_ready(lambda *call: None)
in_making_ready = len(compiled)

import numpy as np
from heat_neo4j import HEAT
from heat_neo4j.linkpred.prediction import predict_links
from tests.linkpred.test_link_score import clustered
graph = clustered(60)
predict_links(HEAT(2, walks_per_node=1, random_state=0, n_threads=2).fit(graph), graph, 2)
print(in_making_ready, len(compiled) - in_making_ready)
"""


def rest(folder, processes, before="", **environment):
    """Return how much is compiled after other processes have, by what makes ready and by a run."""
    program = [sys.executable, "-c", REST.format(processes=processes, before=before)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
@pytest.mark.skipif(available_processors()[0] < 2, reason="one processor compiles everything by itself")
def test_two_processes_compile_all_that_a_run_needs(tmp_path):
    assert rest(tmp_path, 2) == (0, 0)


@pytest.mark.slow
def test_processes_that_fail_leave_it_to_this_one(tmp_path):
    in_making_ready, left = rest(tmp_path, 2, before="sys.executable = '/bin/false'")
    assert in_making_ready > 10
    assert left == 0
