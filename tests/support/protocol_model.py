"""The publication protocol as a small state machine, and a search of all that can happen to it.

The steps are those of `heat_neo4j.database.publish.publication`; each is a few statements, and each
statement is one change of the state, as a transaction is. Two writers take the lease and publish or roll
back. One reader goes by the version, node by node, and asks links and indexes. What a plain reader can see
is checked in every state. At any moment a lease can be taken over as if its time were up (its holder is
held up, and goes on later), a client can die, the server can restart, and the answer to a commit can be
lost, so that the statement is sent again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from heat_neo4j.database.publish.publication import PUBLICATION, UNDO, Step

__all__ = ["Mistake", "Version", "ViolationError", "explore", "initial"]

Copy = tuple[str, str | None]
"""The space of a node's coordinates, and the run that wrote them."""

NODES = range(2)
PAIRS = {"none": (), "r0": (0, 1), "r1": (0, 2), "w0": (0, 1, 3), "w1": (0, 2, 4)}
"""The pairs of nodes that each run predicts links between: some of them as the runs before it do."""
GONE: Copy = ("", None)
"""What is staged for a node that has left."""


class Version(NamedTuple):
    """What the node of a version says, and, for the test alone, the value that each node must have in it."""

    run: str
    space: str
    expected: tuple[str | None, ...]
    is_staged: bool = False
    indexes: tuple[str, ...] = ("plain",)
    before: Version | None = None

    def at_rest(self) -> Version:
        return self._replace(is_staged=False, indexes=("plain",), before=None)


NOTHING = Version("none", "none", (None, None), indexes=())
"""What is published before the first version."""


class Copies(NamedTuple):
    """The copies of one node; the previous one with the run of the version that it belongs to."""

    plain: Copy | None
    staged: Copy | None = None
    previous: tuple[str, Copy | None] | None = None


class Links(NamedTuple):
    """The predicted links of each copy: the run that each is of, by the pair of nodes that it joins."""

    plain: frozenset[tuple[str, int]]
    staged: frozenset[tuple[str, int]] = frozenset()
    previous: frozenset[tuple[str, int]] = frozenset()


class Writer(NamedTuple):
    """One writer: its statements still to be sent, and the version that it publishes."""

    job: str  # the run that it publishes, or "rollback"
    todo: tuple[tuple[str, int], ...] = (("take", 0),)
    coming: Version | None = None
    made: Version | None = None
    is_dead: bool = False
    is_loser: bool = False


class Reader(NamedTuple):
    """A reader by version in one transaction: the version that it goes by, and the nodes it has read."""

    version: Version | None = None
    read: int = -1  # -1: not begun


class Scene(NamedTuple):
    """Everything that is in the database, and where the writers are."""

    nodes: tuple[Copies, ...]
    links: Links
    published: Version
    indexes: frozenset[str] = frozenset({"plain"})
    holder: int | None = None
    staging: str | None = None
    writers: tuple[Writer, ...] = ()


class Event(NamedTuple):
    """What a writer, or a mishap, can make of a scene."""

    name: str
    scene: Scene
    mishaps: int = 0  # that it consists of
    awaited: Version | None = None  # it has to wait for a reader that goes by another version


@dataclass(eq=False)
class Place:
    """A scene in the search, and the events that are possible there, each with the place after it.

    There is one place for each scene. So a place is known by its identity, which is far cheaper to look up
    than a scene, and what depends neither on the reader nor on the number of mishaps is found out once.
    """

    scene: Scene
    events: list[tuple[Event, Place]] | None = None  # None: not visited yet


State = tuple[Place, Reader, int]
"""Where everybody is: the place, the reader, and how many mishaps have happened."""


@dataclass(frozen=True)
class Mistake:
    """What is done wrong on purpose: another order of steps, no fencing, two pointers, links not kept."""

    steps: tuple[Step, ...] = PUBLICATION
    is_fenced: bool = True
    is_one_pointer: bool = True
    keeps_changed_links: bool = True
    awaits_readers_of_a_first_version: bool = True


class ViolationError(AssertionError):
    """What must never be, was; the message says what, and the way there."""


@cache
def links_of(run: str) -> frozenset[tuple[str, int]]:
    """Return the links that a run predicts."""
    return frozenset((run, pair) for pair in PAIRS[run])


def initial(jobs: Sequence[str], *, is_empty: bool = False) -> Scene:
    """Return a database with a version and the one before it, and writers who want something each.

    A job is "full", "local", "leaving" (local; the second node leaves) or "rollback". With `is_empty`
    nothing is published yet.
    """
    writers = tuple(Writer(job) for job in jobs)
    if is_empty:
        nodes = tuple(Copies(None) for _ in NODES)
        return Scene(nodes, Links(frozenset()), NOTHING, frozenset(), writers=writers)
    before = Version("r0", "r0", ("r0", None))
    now = Version("r1", "r1", ("r1", "r1"), before=before)
    nodes = (Copies(("r1", "r1"), None, ("r0", ("r0", "r0"))), Copies(("r1", "r1"), None, ("r0", None)))
    links = Links(links_of("r1"), previous=links_of("r0"))
    return Scene(nodes, links, now, writers=writers)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep Python from looking for garbage: it took half the time, and a search keeps all that it makes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@without_collecting()
def explore(start: Scene, mistake: Mistake = Mistake(), mishaps: int = 2) -> int:
    """Visit every state that can be reached; return how many there are.

    Raises
    ------
    ViolationError
        If one breaks an invariant.
    """
    places = {start: Place(start)}
    first = places[start], Reader(), 0
    came_from: dict[State, tuple[State, str] | None] = {first: None}
    frontier = [first]
    while frontier:
        reached = []
        for state in frontier:
            try:
                if state[0].events is None:
                    visit(state[0], places, mistake)
                successors = list(following(state, mishaps))
            except ViolationError as violation:
                raise ViolationError(f"{violation}: {' / '.join(way(came_from, state))}") from None
            for name, successor in successors:
                if successor not in came_from:
                    came_from[successor] = state, name
                    reached.append(successor)
        frontier = reached
    return len(came_from)


def visit(place: Place, places: dict[Scene, Place], mistake: Mistake) -> None:
    """See that nothing is wrong at a place that is reached for the first time, and find its events."""
    database = place.scene._replace(holder=None, writers=())
    check(database)
    if all(writer.is_dead or not writer.todo for writer in place.scene.writers):
        check_recovery(database, mistake)
    place.events = [
        (event, places.setdefault(event.scene, Place(event.scene))) for event in events(place.scene, mistake)
    ]


def way(came_from: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    """Return the events that led to a state."""
    names = []
    while (step := came_from[state]) is not None:
        state, name = step
        names.append(name)
    return names[::-1]


# What can happen next.


def following(state: State, most_mishaps: int) -> Iterator[tuple[str, State]]:
    """Yield the name of each event that is possible, and the state after it."""
    place, reader, mishaps = state
    may_fail = mishaps < most_mishaps
    assert place.events is not None
    for event, after in place.events:
        is_held_up = event.awaited is not None and reader.version not in (None, event.awaited)
        if not is_held_up and (may_fail or not event.mishaps):
            yield event.name, (after, reader, mishaps + event.mishaps)
    name, next_reader = read_on(place.scene, reader)
    yield name, (place, next_reader, mishaps)
    if may_fail and reader.read >= 0:
        yield "the server restarts", (place, Reader(), mishaps + 1)


def events(scene: Scene, mistake: Mistake) -> Iterator[Event]:
    """Yield what each writer can do next, and what can happen to it."""
    for number, writer in enumerate(scene.writers):
        if writer.is_dead or not writer.todo:
            continue
        name = writer.todo[0][0]
        after = applied(scene, number, mistake)
        next_writer = after.writers[number]
        mishaps = int(name == "take" and is_held(scene, number))
        is_first = scene.published.before is None and not mistake.awaits_readers_of_a_first_version
        waits = name == "await" and not next_writer.is_loser and not is_first
        awaited = scene.published if waits else None
        yield Event(f"{number}: {name}", after, mishaps, awaited)
        if next_writer.todo != writer.todo and not next_writer.is_loser:
            # The answer is lost: the statement has taken effect, and is sent again.
            again = put(after, number, next_writer._replace(todo=writer.todo))
            yield Event(f"{number}: {name}, answer lost", again, mishaps + 1, awaited)
        yield Event(f"{number} dies", put(scene, number, writer._replace(is_dead=True)), 1)


def put(scene: Scene, number: int, writer: Writer) -> Scene:
    """Return the scene with another state of one writer."""
    return scene._replace(writers=(*scene.writers[:number], writer, *scene.writers[number + 1 :]))


def read_on(scene: Scene, reader: Reader) -> tuple[str, Reader]:
    """Return the name of what the reader by version does next, and where it is then."""
    if reader.version is None:
        return "reader: version", Reader(scene.published, 0)
    if reader.read < len(NODES):
        seen = value_of(scene.nodes[reader.read], reader.version)
        if seen != reader.version.expected[reader.read]:
            raise ViolationError(f"a reader of {reader.version.run} saw {seen} on node {reader.read}")
        return f"reader: node {reader.read}", Reader(reader.version, reader.read + 1)
    see_links(scene, reader.version, f"a reader of {reader.version.run}")
    if not reader.version.indexes:  # as of the first version, until it is settled
        return "reader: done", Reader()
    if not set(reader.version.indexes) <= scene.indexes:
        raise ViolationError(f"a reader of {reader.version.run} asked an index that is not there")
    found = {
        node
        for node, here in enumerate(scene.nodes)
        for index in reader.version.indexes
        if (here.plain if index == "plain" else here.staged) == read_copy(here, reader.version)
    }
    missing = {node for node in NODES if reader.version.expected[node] is not None} - found
    if missing:
        raise ViolationError(f"the indexes of {reader.version.run} lack nodes {missing}")
    return "reader: done", Reader()


def value_of(node: Copies, version: Version) -> str | None:
    """Return what a reader by version takes for the value of a node, as the queries do."""
    copy = read_copy(node, version)
    return copy[1] if copy is not None and copy[0] == version.space else None


def see_links(scene: Scene, version: Version, who: str) -> None:
    """See that the links of a version are where its readers look for them."""
    seen = scene.links.staged if version.is_staged else scene.links.plain
    if missing := links_of(version.run) - seen:
        raise ViolationError(f"{who} did not see the links {set(missing)} of {version.run}")


def read_copy(node: Copies, version: Version) -> Copy | None:
    """Return the copy of a node that a reader by version looks at."""
    return node.staged if version.is_staged and node.staged is not None else node.plain


# What each statement does.


@cache
def statements(mistake: Mistake, steps: tuple[Step, ...]) -> tuple[tuple[str, int], ...]:
    """Return the statements of some steps, each with the node that it is about."""
    switch = ["switch"] if mistake.is_one_pointer else ["half", "switch"]
    names = {
        Step.INDEX_STAGED: ["index staged"],
        Step.SWITCH_TO_STAGED: ["make staged", *switch],
        Step.AWAIT_READERS: ["await"],
        Step.INDEX_PLAIN: ["index plain"],
        Step.SWITCH_TO_PLAIN: ["make plain", *switch],
    }
    of = {step: [(name, 0) for name in listed] for step, listed in names.items()}
    links = [
        ("settle links", 0),
        ("settle links", 1),
        ("forget links", 0),
        ("keep links", 0),
        ("keep links", 1),
    ]
    of[Step.STAGE] = [*(("stage", node) for node in NODES), ("stage links", 0)]
    of[Step.SETTLE] = [*(("settle", node) for node in NODES), *links]
    of[Step.UNSTAGE] = [*(("unstage", node) for node in NODES), ("unstage links", 0), ("end", 0)]
    return tuple(statement for step in steps for statement in of[step])


def left_over(scene: Scene, mistake: Mistake) -> tuple[tuple[str, int], ...]:
    """Return the statements by which the next holder of the lease finishes or undoes what is half done."""
    if scene.staging is None:
        return ()
    if not scene.published.is_staged:
        return statements(mistake, UNDO)
    return statements(mistake, mistake.steps[mistake.steps.index(Step.SWITCH_TO_STAGED) + 1 :])


def applied(scene: Scene, number: int, mistake: Mistake) -> Scene:
    """Return the scene after a writer's next statement."""
    writer = scene.writers[number]
    name, node = writer.todo[0]
    if name == "take":
        todo = (*left_over(scene, mistake), ("register", 0))
        writer = writer._replace(todo=todo, coming=scene.published, made=None)
        return put(scene._replace(holder=number), number, writer)
    if mistake.is_fenced and scene.holder != number:
        return put(scene, number, writer._replace(todo=(), is_loser=True))
    if name == "register":
        coming = coming_version(scene.published, writer.job, f"w{number}")
        steps = () if coming is None else statements(mistake, mistake.steps)
        writer = writer._replace(coming=coming, todo=(*writer.todo[:1], *steps, ("release", 0)))
        scene = scene._replace(staging=None if coming is None else coming.run)
    else:
        scene, writer = changed(scene, writer, name, node, mistake)
    return put(scene, number, writer._replace(todo=writer.todo[1:]))


def is_held(scene: Scene, number: int) -> bool:
    """Return whether another writer, who is alive, holds the lease: to take it, its time must be up."""
    return scene.holder not in (None, number) and not scene.writers[scene.holder].is_dead


def coming_version(published: Version, job: str, run: str) -> Version | None:
    """Return the version that a writer publishes next; None if there is none to roll back to."""
    if job == "rollback":
        return published.before and published.before._replace(before=published.at_rest())
    first, second = run, published.expected[1]
    if published == NOTHING:
        return Version(run, run, (run, run))
    if job == "full":
        return Version(run, run, (run, run), before=published.at_rest())
    return Version(
        run, published.space, (first, None if job == "leaving" else second), before=published.at_rest()
    )


def staged_copy(here: Copies, coming: Version, job: str, node: int) -> Copy | None:
    """Return what a writer stages of a node."""
    if job == "rollback":
        if here.previous is None or here.previous[0] != coming.run:
            return None
        kept = here.previous[1]
        return GONE if kept is None else (coming.space, kept[1])
    if job == "full":
        return coming.space, coming.run
    if node == 0:
        return coming.space, coming.run
    return GONE if job == "leaving" and here.plain is not None else None


def settled(here: Copies, coming: Version) -> Copies:
    """Return a node after it was settled, as cypher/write/coordinates_settle.cypher does."""
    before = coming.before
    if before is None:
        return here if here.staged is None else here._replace(plain=here.staged, previous=None)
    left = before.space if before.space != coming.space else None
    if here.staged is None and (here.plain is None or here.plain[0] != left):
        return here
    if here.previous is not None and here.previous[0] == before.run:
        return here
    plain = None if here.staged in (None, GONE) else here.staged
    return here._replace(plain=plain, previous=(before.run, here.plain))


def changed(scene: Scene, writer: Writer, name: str, node: int, mistake: Mistake) -> tuple[Scene, Writer]:
    """Return what a statement makes of the database, and of what its writer knows."""
    here, coming = scene.nodes[node], writer.coming
    if name == "release":
        return scene._replace(holder=None), writer
    assert coming is not None
    if "links" in name:
        return scene._replace(
            links=changed_links(scene.links, coming, writer.job, name, node, mistake)
        ), writer
    match name:
        case "stage":
            here = here._replace(staged=staged_copy(here, coming, writer.job, node))
        case "index staged":
            if coming.before is None:
                return scene, writer._replace(coming=coming._replace(indexes=()))
            is_same_space = coming.before is not None and coming.space == coming.before.space
            indexes = ("staged", "plain") if is_same_space else ("staged",)
            scene = scene._replace(indexes=scene.indexes | {"staged"})
            writer = writer._replace(coming=coming._replace(indexes=indexes))
        case "make staged":
            writer = writer._replace(made=coming._replace(is_staged=True))
        case "make plain":
            writer = writer._replace(made=coming._replace(is_staged=False, indexes=("plain",)))
        case "half":
            assert writer.made is not None
            scene = scene._replace(published=writer.made._replace(indexes=scene.published.indexes))
        case "switch":
            assert writer.made is not None
            scene = scene._replace(published=writer.made)
            writer = writer._replace(coming=writer.made)
        case "settle":
            here = settled(here, coming)
        case "index plain":
            scene = scene._replace(indexes=scene.indexes | {"plain"})
        case "unstage":
            here = here._replace(staged=None)
        case "end":
            scene = scene._replace(staging=None)
    nodes = tuple(here if other == node else copies for other, copies in enumerate(scene.nodes))
    return scene._replace(nodes=nodes), writer


def changed_links(links: Links, coming: Version, job: str, name: str, batch: int, mistake: Mistake) -> Links:
    """Return what a statement makes of the predicted links; they are settled and kept in two batches."""
    run, before = links_of(coming.run), links_of(coming.before.run) if coming.before else frozenset()
    plain, staged, previous = links
    match name:
        case "stage links":
            return links._replace(staged=staged | (previous & run if job == "rollback" else run))
        case "settle links":
            coming_links = {link for link in staged & run if link[1] % 2 == batch} - plain
            changed_pairs = {pair for _, pair in coming_links}
            replaced = {link for link in plain & before if link[1] in changed_pairs}
            if mistake.keeps_changed_links:
                previous = {
                    link for link in previous if link[1] not in {pair for _, pair in replaced}
                } | replaced
            return links._replace(plain=plain - replaced | coming_links, previous=frozenset(previous))
        case "forget links":
            return links._replace(previous=previous & before)
        case "keep links":
            left = {link for link in plain & before if link[1] % 2 == batch}
            return links._replace(plain=plain - left, previous=previous | left)
        case _:
            return links._replace(staged=frozenset())


# What must always be.


@cache
def check(scene: Scene) -> None:
    """See that nothing is torn or lost.

    The published version can be read whole by version. Before its first switch and after its second a plain
    reader reads exactly the published version, in between each node of that or of the one before. At rest
    nothing is staged, and the version before can be had back.
    """
    published = scene.published
    for node, here in enumerate(scene.nodes):
        seen, plain = value_of(here, published), here.plain and here.plain[1]
        if seen != published.expected[node]:
            raise ViolationError(f"node {node} of the published version {published.run} is lost: {seen}")
        known = {published.expected[node]}
        if published.is_staged:
            known.add(published.before.expected[node] if published.before is not None else None)
        if plain not in known:
            raise ViolationError(f"a plain reader saw {plain} on node {node} of {published.run}")
    see_links(scene, published, "a reader now")
    check_plain_links(scene)
    if not set(published.indexes) <= scene.indexes:
        raise ViolationError(f"an index of {published.run} is missing")
    if scene.staging is None:
        check_rest(scene)


def check_plain_links(scene: Scene) -> None:
    """See that a plain reader reads the links of the published version.

    While it lies staged they are of that or of the one before, and of a pair of both there always is one.
    """
    published, plain = scene.published, scene.links.plain
    links = links_of(published.run)
    if not published.is_staged:
        if plain != links:
            raise ViolationError(f"a plain reader saw the links {set(plain)}")
        return
    before = links_of(published.before.run) if published.before is not None else frozenset()
    pairs = [pair for _, pair in plain]
    if not plain <= links | before or len(pairs) > len(set(pairs)):
        raise ViolationError(f"a plain reader saw the links {set(plain)}")
    if missing := {pair for _, pair in links} & {pair for _, pair in before} - set(pairs):
        raise ViolationError(f"a plain reader saw no link between the pairs {missing}")


def check_rest(scene: Scene) -> None:
    """See that nothing is staged, and that the version before can be had back."""
    published = scene.published
    staged = (scene.links.staged, *(here.staged for here in scene.nodes))
    if published.is_staged or any(staged):
        raise ViolationError("something is staged at rest")
    if published != NOTHING and "plain" not in scene.indexes:
        raise ViolationError("the plain index is missing at rest")
    before = published.before
    if before is None:
        return
    if scene.links.previous != links_of(before.run):
        raise ViolationError(f"links of {before.run}, to be rolled back to, are lost")
    for node, here in enumerate(scene.nodes):
        is_kept = here.previous is not None and here.previous[0] == before.run
        copy = here.previous[1] if is_kept and here.previous is not None else here.plain
        value = copy[1] if copy is not None and (is_kept or copy[0] == before.space) else None
        if value != before.expected[node]:
            raise ViolationError(f"node {node} of {before.run}, to be rolled back to, is lost: {value}")


@cache
def check_recovery(database: Scene, mistake: Mistake) -> None:
    """See that the next holder of the lease puts everything right, whatever has died."""
    repairer = Writer("rollback", todo=left_over(database, mistake), coming=database.published)
    scene = database._replace(holder=0, writers=(repairer,))
    while scene.writers[0].todo:
        scene = applied(scene, 0, mistake)
    check(scene)
    check_rest(scene)
