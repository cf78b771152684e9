"""`Limits`: sizes and timeouts of a `Connection` and its users."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes of chunks, and seconds to wait; `Connection.limits` holds them.

    The chunks bound the memory of one transaction, here and on the server. Throughput is the same from 10^3
    to 10^5 rows.
    """

    connect_seconds: float = 15.0  # one attempt to connect, including the handshake
    statement_seconds: float | None = None  # the server ends a statement then; None for its own limit
    patience_seconds: float = 120.0  # work is repeated, from its first failure or the server's loss
    first_pause: float = 1.0
    longest_pause: float = 10.0
    grace_seconds: float = 10.0  # the longest wait for readers that began before a switch
    version_seconds: float = 5.0  # an answer that took longer may mix two versions: half of the grace
    nodes: int = 10_000  # in one chunk, as are the next two
    relationships: int = 200_000
    values: int = 500_000
    rows: int = 10_000  # written in one transaction, as are the values: about 5 MB on the wire
    values_written: int = 500_000
    first_nodes: int = 256  # the first chunk of properties, whose length is unknown
    numbers: int = 50_000  # of element ids, in one block
    numbers_per_node: int = 4  # a number without a node of the projection costs a third of one with
    nodes_per_scan: int = 1_000_000  # some 60 MB of the server's memory
    core: int = 100  # nodes around the origin, published separately: vector indexes miss them
    candidates: int = 600  # the most that an index gives; the second statement asks for eight times as many
