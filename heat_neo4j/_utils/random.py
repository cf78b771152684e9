"""Named, independent random keys from one seed."""

from dataclasses import dataclass

import numpy as np

from heat_neo4j._utils.validation import check_integer


@dataclass(frozen=True)
class Keys:
    """Keys of the counter-based streams (see `_kernels.random`), and the generators for array draws."""

    walks: np.uint64
    negatives: np.uint64
    start: np.random.Generator
    order: np.random.Generator


RandomState = int | np.random.RandomState | None
"""What scikit-learn takes as `random_state`."""


def draw_seed(random_state: RandomState) -> int:
    """Return a non-negative integer `random_state`, a seed drawn from a RandomState, or a fresh seed."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    return check_integer("random_state", random_state, minimum=0, maximum=None)


def make_keys(seed: int) -> Keys:
    """Return the keys of a training run; the same seed always gives the same keys."""
    walks, negatives, start, order = np.random.SeedSequence(seed).spawn(4)
    return Keys(
        walks=walks.generate_state(1, np.uint64)[0],
        negatives=negatives.generate_state(1, np.uint64)[0],
        start=np.random.Generator(np.random.PCG64(start)),
        order=np.random.Generator(np.random.PCG64(order)),
    )
