"""The publication protocol: its steps, as data; docs/guarantees.md explains it.

Three copies of coordinates and links can be in the graph: *plain*, which everybody reads who knows nothing of
versions; *staged*, only while a version is published; and *previous*, what the last publication replaced.
Readers by version take the staged value of a node if their version says so and there is one, else the plain
one. A test explores all interleavings of the steps.
"""

from enum import Enum


class Step(Enum):
    """One step of a publication. Each can be repeated after a crash."""

    STAGE = "write the new version under staged names; nobody reads them"
    INDEX_STAGED = "make vector indexes over the staged coordinates, unless they are kept from before"
    SWITCH_TO_STAGED = "switch readers by version to the staged copy, by changing one number"
    AWAIT_READERS = "wait for transactions that began before the switch"
    SETTLE = "copy plain to previous and staged to plain, node by node and link by link"
    INDEX_PLAIN = "make the plain vector indexes, where the published ones do not serve"
    SWITCH_TO_PLAIN = "switch readers by version to the plain copy"
    RESTORE = "move what was settled back: previous to plain, node by node and link by link"
    SWITCH_BACK = "switch readers by version to the version before, under its plain names"
    UNSTAGE = "remove the staged copy, which empties its indexes, and drop indexes of other labels"


PUBLICATION = (
    Step.STAGE,
    Step.INDEX_STAGED,
    Step.SWITCH_TO_STAGED,
    Step.AWAIT_READERS,
    Step.SETTLE,
    Step.INDEX_PLAIN,
    Step.SWITCH_TO_PLAIN,
    Step.AWAIT_READERS,
    Step.UNSTAGE,
)
"""The steps of `heat embed`, `links`, `refresh` and `rollback`, in their order."""

UNDO = (Step.AWAIT_READERS, Step.UNSTAGE)
"""What the next holder of the lease does where a publication was interrupted before its first switch or after
its last: readers may still go by the staged copy."""


WITHDRAWAL = (Step.RESTORE, Step.SWITCH_BACK, Step.AWAIT_READERS, Step.UNSTAGE)
"""Replaces the steps after the first switch if a constraint of the database prevents one of them: the version
before is published again. The one before that is not kept."""


def remaining(*, is_switched: bool) -> tuple[Step, ...]:
    """Return what is left of an interrupted publication: the steps after its first switch, or to undo it."""
    return PUBLICATION[PUBLICATION.index(Step.SWITCH_TO_STAGED) + 1 :] if is_switched else UNDO
