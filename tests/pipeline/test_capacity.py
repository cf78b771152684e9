"""A run that would not fit is refused with the numbers and what to change; one that fits is not."""

from dataclasses import replace

import pytest

from heat_neo4j.errors import MemoryExceeded
from heat_neo4j.pipeline.memory import PROGRAM, LinkEnds, RunSize, check_memory, memory_of

LARGE = RunSize(
    nodes=10**6,
    relationships=5 * 10**6,
    attribute_columns=50,
    attribute_share=0.08,
    threads=2,
    link_score=False,
    patterns=(LinkEnds(10**6, 10**6, 10),),
)


def peak(size):
    return max(memory_of(size).values())


def test_what_fits_is_let_through():
    check_memory(LARGE, peak(LARGE))


@pytest.mark.parametrize(
    ("size", "advice"),
    [
        (
            replace(LARGE, patterns=()),
            "a projection of fewer nodes or attributes, or lower --n-components",
        ),
        (replace(LARGE, patterns=(LinkEnds(10**6, 10**6, 200),)), "lower --k, or --no-links"),
        (replace(LARGE, link_score=True), "--score distance, or --no-links"),
        (replace(LARGE, relationships=10**8, walks_per_node=1), "a projection of fewer nodes, relationships"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers_and_what_to_change(size, advice):
    needed = peak(size)
    with pytest.raises(MemoryExceeded) as caught:
        check_memory(size, needed - 1)
    message = str(caught.value)
    assert f"about {needed / 2**30:.1f} GiB" in message
    assert advice in message
    assert message.endswith("or raise --memory-limit; nothing was started")


def test_where_the_program_itself_does_not_fit_nothing_else_is_advised():
    small = replace(LARGE, nodes=40, relationships=40)
    with pytest.raises(
        MemoryExceeded, match=r"the program alone takes about 300.0 MiB .*: raise --memory-limit to"
    ):
        check_memory(small, PROGRAM)


def test_where_files_would_do_they_are_offered():
    size = replace(LARGE, nodes=10**7, relationships=5 * 10**7, attribute_columns=0, patterns=())
    over_files = replace(size, scratch="there")
    assert peak(over_files) < 4 * 2**30 < peak(size)
    offered = rf"choose --scratch FOLDER, on a disk with {size.scratch_bytes / 2**30:.1f} GiB free, or "
    with pytest.raises(MemoryExceeded, match=offered):
        check_memory(size, 4 * 2**30)
    check_memory(over_files, 4 * 2**30)


def test_a_small_graph_is_never_trained_over_files():
    small = replace(LARGE, nodes=5000, relationships=50_000)
    assert small.scratch_bytes == 0
