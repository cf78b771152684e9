"""The first training on a machine compiles, and says so; later ones do not."""

import os
import subprocess
import sys

from heat_neo4j._compiling import COMPILING

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


def test_only_the_first_training_on_a_machine_compiles(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", FIT.format(stage=COMPILING)]
    first, second = (
        subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    )
    assert first == "[(0, 1), (1, 1)] True"
    assert second == "[] False"
