"""What a checkpoint keeps comes back to the bit, and only for the same graph and parameters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j.errors import ConfigError
from heat_neo4j.pipeline.checkpoint import Checkpoint
from tests.support.full_disk import full_disk

RING = Graph(
    adjacency=sparse.csr_array(np.roll(np.eye(40), 1, axis=1)),
    attributes=np.arange(80.0).reshape(40, 2) % 7,
    node_ids=tuple(map(str, range(40))),
)
KEPT = {"calibration": {"radius": 3.5, "temperature": 0.25}}


def model(**parameters):
    return HEAT(n_components=2, walks_per_node=1, **parameters)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def save(path, fitted=None, graph=RING):
    fitted = fitted or model(random_state=2**63 + 5)
    checkpoint = Checkpoint(path)
    assert checkpoint.restore(fitted, graph) is None
    fitted.fit(graph)
    checkpoint.save(fitted, KEPT)
    return fitted


def test_a_fitted_model_comes_back_whole(path):
    fitted = save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    again, checkpoint = model(random_state=2**63 + 5, n_threads=1), Checkpoint(path)
    assert checkpoint.restore(again, RING) == KEPT
    np.testing.assert_array_equal(again.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(again.loss_curve_, fitted.loss_curve_)
    assert (again.seed_, again.n_pairs_, again.training_) == (fitted.seed_, fitted.n_pairs_, fitted.training_)
    assert "was restored from checkpoint" in checkpoint.notes[0]
    checkpoint.remove()
    assert list(path.parent.iterdir()) == []


def test_a_scalar_of_numpy_is_the_same_parameter_as_a_number(path):
    save(path, model(random_state=np.int64(3), alpha=np.float64(0.5)))
    assert Checkpoint(path).restore(model(random_state=3, alpha=0.5), RING) == KEPT


def test_where_it_was_trained_is_no_part_of_it(path, tmp_path):
    fitted = save(path, model(scratch=tmp_path, n_threads=1, random_state=3).fit(RING))
    again = model(random_state=3)
    assert Checkpoint(path).restore(again, RING) is not None
    assert again.embedding_.tobytes() == fitted.embedding_.tobytes()
    assert again.scratch is None


def test_a_seed_that_was_drawn_is_taken_again(path):
    fitted, again = save(path, model()), model()
    assert Checkpoint(path).restore(again, RING) is not None
    assert again.seed_ == fitted.seed_


@pytest.mark.parametrize(
    ("other", "graph"),
    [
        (model(random_state=4), RING),
        (model(random_state=3, alpha=0.5), RING),
        (model(random_state=3, time_limit=100.0), RING),
        (model(random_state=3), replace(RING, adjacency=RING.adjacency * 2.0)),
        (model(random_state=3), replace(RING, attributes=RING.attributes + 1.0)),
        (model(random_state=3), replace(RING, attributes=None)),
        (model(random_state=3), replace(RING, node_ids=RING.node_ids[::-1])),
    ],
)
def test_of_another_graph_or_other_parameters_it_is_of_no_use(path, other, graph):
    save(path, model(random_state=3))
    checkpoint = Checkpoint(path)
    assert checkpoint.restore(other, graph) is None
    assert not hasattr(other, "embedding_")
    assert "had another graph or other parameters: replaced" in checkpoint.notes[0]


@pytest.mark.parametrize("content", [b"", b"mine", b"PK\x03\x04 half a zip"])
def test_a_file_of_another_kind_is_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is not a checkpoint: choose another name"):
        Checkpoint(path)
    assert path.read_bytes() == content


def test_arrays_of_somebody_else_are_left_alone(path):
    with path.open("wb") as file:
        np.savez(file, embedding=np.eye(3))
    with pytest.raises(ConfigError, match="is not a checkpoint"):
        Checkpoint(path)


def test_a_folder_that_is_not_there_is_said_before_anything_is_computed(path):
    with pytest.raises(ConfigError, match="checkpoint: there is no folder"):
        Checkpoint(path / "deeper")


def test_a_save_that_is_cut_short_leaves_what_was_there(path):
    fitted = save(path)
    before = path.read_bytes()
    with full_disk(len(before) // 2), pytest.raises(ConfigError, match="File too large"):
        Checkpoint(path).save(fitted, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_without_a_path_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint, fitted = Checkpoint(None), model(random_state=0)
    assert checkpoint.restore(fitted, RING) is None
    checkpoint.save(fitted.fit(RING), KEPT)
    checkpoint.remove()
    assert list(tmp_path.iterdir()) == []
    assert checkpoint.notes == ()


EDITS = {
    "shape": {"embedding": np.eye(3)}, "numbers": {"embedding": np.full((40, 3), np.nan)},
    "points": {"embedding": np.ones((40, 3))}, "losses": {"losses": np.array([np.inf])},
    "loss texts": {"losses": np.array(["x"])}, "no JSON": {"facts": "{"}, "deep": {"facts": "[" * 100_000},
    "no facts": {"facts": "{}"}, "list": {"facts": "[]"}, "number": {"facts": "3"},
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_checkpoint_that_was_edited_is_one_line(path, edit):
    save(path)
    with np.load(path) as held:
        arrays = {**held, **EDITS[edit]}
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ConfigError, match=r"checkpoint .* is damaged: delete it"):
        Checkpoint(path).restore(model(random_state=2**63 + 5), RING)
