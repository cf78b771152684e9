"""The same bits on every host: no maths library or processor decides about what leads to coordinates."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from struct import unpack_from

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.embedding.warm_start import fit_local, fit_warm
from heat_neo4j.geometry.hyperboloid import distance, exp_map, lift, log_map, radius
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.graph import Relationships
from tests.architecture import modules

try:
    from numpy._core import _multiarray_umath as numpy_core
except ImportError:  # before NumPy 2
    from numpy.core import _multiarray_umath as numpy_core

ON_THE_WAY = re.compile(
    r"heat_neo4j\.(_kernels|embedding|graph|attributes\.(columns|values)|geometry\.(hyperboloid|search))\b"
)
SOURCES = {name: path for name, path in modules().items() if ON_THE_WAY.match(name)}
ROUNDED_ALIKE = {
    "abs", "add", "bitwise_or", "divide", "frexp", "isfinite", "isinf", "isnan", "ldexp", "maximum",
    "minimum", "sqrt",
}  # fmt: skip
EXACT_OF_MATH = {"fsum", "isfinite", "pi"}
BY_BLAS = {
    "convolve", "correlate", "cov", "corrcoef", "cross", "dot", "einsum", "inner", "interp", "matmul",
    "tensordot", "trace", "vdot",
}  # fmt: skip
NO_SUMS_OF_PRODUCTS = {  # where one of two matrices is diagonal, or both are of integers
    "heat_neo4j.embedding.placement.with_neighbours",
    "heat_neo4j.embedding.walks.step_weights",
    "heat_neo4j.embedding.placement._by_neighbours",
    "heat_neo4j.graph.without",
}
NO_RESULT = {"heat_neo4j.geometry.search._projection"}  # decides where the search looks, not what it finds
SYMBOLS = 2  # the kind of an ELF section
OF_NO_MATHS = re.compile(
    "_?Py|NRT_|numba_(attempt_nocopy_reshape|do_raise|gil_|runtime_|unpickle)|sched_yield$|usleep$|mem(set|cpy|move)$|$"
)


def functions(tree):
    """Yield each function with its name, and the rest of the module as one without."""
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    nested = {id(node) for function in inside for node in ast.walk(function)}
    yield from ((function.name, list(ast.walk(function))) for function in inside)
    yield "", [node for node in ast.walk(tree) if id(node) not in nested]


def inexact_uses(name):
    """Yield what a module uses of NumPy, `math` and operators whose last digit depends on the host."""
    for function, nodes in functions(ast.parse(SOURCES[name].read_text())):
        place = f"{name}.{function}"
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used, of = node.attr, node.value.id
                is_ufunc = of == "np" and isinstance(getattr(np, used, None), np.ufunc)
                if (
                    (is_ufunc and used not in ROUNDED_ALIKE)
                    or (of == "np" and used in BY_BLAS)
                    or (of == "math" and used not in EXACT_OF_MATH)
                ):
                    yield f"{place}: {of}.{used}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                called, keywords = ast.unparse(node.func), {each.arg for each in node.keywords}
                lacking = {"np.linalg.norm": "axis", "np.argsort": "kind"}.get(called, "")
                of_linalg = called.startswith("np.linalg.") and called != "np.linalg.norm"
                if (lacking and lacking not in keywords) or (of_linalg and place not in NO_RESULT):
                    yield f"{place}: {called}"
                if node.func.attr in {"dot", "uniform", "normal", "exponential", "std", "var"}:
                    yield f"{place}: .{node.func.attr}"
            if isinstance(node, ast.BinOp):
                of_numbers = isinstance(node.left, ast.Constant) or ast.unparse(node.right) == "2"
                if (isinstance(node.op, ast.Pow) and not of_numbers) or (
                    isinstance(node.op, ast.MatMult) and place not in NO_SUMS_OF_PRODUCTS | NO_RESULT
                ):
                    yield f"{place}: {ast.unparse(node)}"


def test_nothing_is_used_whose_last_digit_depends_on_the_host():
    assert [(name, use) for name in SOURCES for use in inexact_uses(name)] == []


def graph():
    """Return 600 nodes with attributes, types and directions, made without a maths library."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, 600, size=2400)
    target = (source + rng.integers(1, 20, size=2400)) % 595  # 5 nodes have no neighbours, or few
    weights = sparse.csr_array((1.0 + rng.random(2400), (source, target)), shape=(600, 600))
    weights.setdiag(0.0)
    weights.eliminate_zeros()
    ends = sparse.coo_array(weights)
    kinds = {"A": ends.row % 3 == 0, "B": ends.row % 3 != 0}
    relationships = Relationships.from_pairs(
        {kind: (ends.row[own], ends.col[own]) for kind, own in kinds.items()}
    )
    attributes = sparse.random_array((600, 30), density=0.1, rng=rng, format="csr")
    return Graph(weights, attributes, relationships=relationships)


def bits():
    """Return what all that is promised hashes to."""
    whole = graph()
    model = HEAT(10, walks_per_node=2, n_threads=1, random_state=0).fit(whole)
    points = model.embedding_
    other = {"negative_exponent": 0.75, "forward": 0.7, "type_balance": 0.3}
    second = HEAT(3, walks_per_node=1, n_threads=1, random_state=0, refine=False, **other).fit(whole)
    third = HEAT(3, hierarchy="A", walks_per_node=1, n_threads=1, random_state=0).fit(whole)
    dense = replace(whole, attributes=whole.attributes.toarray() + 1.0)
    new = np.arange(600) % 50 == 0
    changed = np.where(np.arange(600) % 7 == 0, 0.3, 0.0)
    nearest = nearest_neighbours(points, 10, n_threads=1)
    rng = np.random.default_rng(1)
    far = lift(20.0 * rng.random((1000, 10)) - 10.0)
    tangents = log_map(far, far[::-1])
    results = {
        "fit": (points, model.loss_curve_),
        "other parameters": (second.embedding_, second.loss_curve_),
        "hierarchy": (third.embedding_, third.loss_curve_),
        "warm": (fit_warm(model, dense, points, new).embedding_,),
        "local": (fit_local(model, dense, points, new, changed).embedding_,),
        "neighbours": nearest,
        "maps": (tangents, exp_map(far, 0.3 * tangents), radius(far), distance(far, far[::-1])),
    }
    return {
        name: hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()
        for name, arrays in results.items()
    }


def bits_on(host):
    """Return `bits` of another process, with some environment variables."""
    run = subprocess.run(
        [sys.executable, "-m", __name__],
        env={**os.environ, **host},
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    return json.loads(run.stdout)


@cache
def bits_here():
    return bits()


def undefined_symbols(compiled):
    """Yield the names of what the object code in a file of Numba's cache calls from elsewhere."""
    elf = compiled[compiled.index(b"\x7fELF") :]
    (at,), (size, count) = unpack_from("<Q", elf, 0x28), unpack_from("<HH", elf, 0x3A)
    sections = [unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]
    for _, kind, _, _, first, length, strings, *_ in sections:
        if kind == SYMBOLS:
            for at in range(first, first + length, 24):
                name, _, _, section = unpack_from("<IBBH", elf, at)
                begin = sections[strings][4] + name
                if section == 0:
                    yield elf[begin : elf.index(b"\0", begin)].decode()


def plain_libraries():
    """Return what lets NumPy, the maths library and BLAS do without all that newer processors have."""
    disabled = [name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[name]]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
        "OPENBLAS_CORETYPE": "Nehalem",
    }


def test_older_processors_libraries_give_the_same_bits():
    assert bits_on(plain_libraries()) == bits_here()


@pytest.mark.slow
def test_code_compiled_for_the_oldest_processor_gives_the_same_bits_and_calls_no_library(tmp_path):
    oldest = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert bits_on({**plain_libraries(), **oldest}) == bits_here()
    compiled = list(tmp_path.rglob("*.nbc"))
    called = {path.name: set(undefined_symbols(path.read_bytes())) for path in compiled}
    assert any("train_batches" in name and "usleep" in names for name, names in called.items())
    assert {name for names in called.values() for name in names if not OF_NO_MATHS.match(name)} == set()


if __name__ == "__main__":
    print(json.dumps(bits()))
