"""docs/benchmarks.jsonl: the records of `make bench`."""

import json
from importlib.util import find_spec

from tests.benchmarks import __main__ as bench


def test_every_benchmark_and_every_record_names_a_module_that_exists():
    modules = {f"tests.benchmarks.{name}" for name in bench.BENCHMARKS}
    recorded = {record["command"].split()[2] for record in bench.read_records()}
    assert recorded <= modules
    assert [module for module in sorted(modules) if find_spec(module) is None] == []


def test_a_benchmark_that_is_measured_again_replaces_its_records_only(tmp_path, monkeypatch):
    path = tmp_path / "benchmarks.jsonl"
    old = [
        {"command": f"python -m tests.benchmarks.{name}", "output": ["old"]} for name in ("this", "a this")
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in old))
    monkeypatch.setitem(bench.BENCHMARKS, "this", ("--dim 1", "--dim '2 3'"))
    new = [record for record, _ in bench.measure("this")]
    assert [record["command"].split("this ")[1] for record in new] == ["--dim 1", "--dim '2 3'"]
    assert set(new[0]) == {"command", "date", "machine", "output"}
    bench.replace_records("this", new, path)
    assert bench.read_records(path) == [old[1], *new]
