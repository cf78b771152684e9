"""Which keys differ, from two sketches alone."""

import numpy as np
import pytest

from heat_neo4j.pipeline.invertible_sketch import InvertibleSketch, shortened


def items(count, seed):
    rng = np.random.default_rng(seed)
    first, second, values = (rng.integers(0, 2**64, count, dtype=np.uint64) for _ in range(3))
    return shortened(first), shortened(second), values


def joined(*parts):
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def found(before, now):
    keys = InvertibleSketch.of(*before).differences(InvertibleSketch.of(*now))
    return None if keys is None else {tuple(key) for key in np.stack(keys, axis=1).tolist()}


def keys_of(part):
    return set(zip(part[0].tolist(), part[1].tolist(), strict=True))


@pytest.mark.parametrize("count", [0, 1, 20, 400])
def test_what_came_went_and_changed_is_found_exactly(count):
    both, gone, come = items(5000, 0), items(count, 1), items(count, 2)
    first, second, values = items(count, 3)
    before = joined(both, gone, (first, second, values))
    now = joined((first, second, values + np.uint64(1)), come, both)
    assert found(before, now) == keys_of(gone) | keys_of(come) | keys_of((first, second, values))


def test_too_many_differences_are_told():
    assert len(found(items(0, 0), items(1400, 1))) == 1400
    assert found(items(0, 0), items(2000, 1)) is None


def test_a_key_may_be_a_pair_of_the_same():
    first, _, values = items(300, 4)
    assert found((first, first, values), items(0, 0)) == keys_of((first, first))


def test_text_holds_all_of_it():
    sketch = InvertibleSketch.of(*items(500, 5))
    assert (InvertibleSketch.from_text(sketch.to_text()).cells == sketch.cells).all()
    with pytest.raises(ValueError, match="unknown compression method"):
        InvertibleSketch.from_text("AAAA")
    with pytest.raises(ValueError, match="cells"):
        InvertibleSketch.from_text(InvertibleSketch(np.full((6, 1920), 2**31 - 1, dtype=np.uint64)).to_text())
