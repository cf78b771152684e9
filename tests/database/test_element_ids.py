"""Element ids that are made when they are asked for are those that were read."""

import numpy as np
import pytest

from heat_neo4j.database.read.element_ids import ElementIds

NUMBERS = [7, 0, 12, 10**15, 3]
MANY = np.arange(25_000)  # more than are made at a time
IDS = ElementIds("4:59cf:", np.array(NUMBERS))
TEXTS = [f"4:59cf:{number}" for number in NUMBERS]


def test_it_is_the_sequence_of_texts():
    assert list(IDS) == TEXTS
    assert list(ElementIds("4:59cf:", MANY)) == [f"4:59cf:{number}" for number in MANY]
    assert len(IDS) == 5
    assert [IDS[place] for place in (0, 4, -1)] == [TEXTS[place] for place in (0, 4, -1)]
    assert list(IDS[1:4]) == TEXTS[1:4]
    assert list(IDS[::-1]) == TEXTS[::-1]
    assert ElementIds("4:59cf:", np.array(NUMBERS)) == IDS
    assert ElementIds("4:59c0:", np.array(NUMBERS)) != IDS
    with pytest.raises(IndexError):
        IDS[5]


def test_a_text_is_found_where_it_is():
    assert [IDS.index(text) for text in TEXTS] == [0, 1, 2, 3, 4]
    assert all(text in IDS for text in TEXTS)
    for other in ("4:59cf:8", "4:59cf:07", "4:59cf:", "7", "4:59c0:7", "4:59cf:²", None, 7):
        assert other not in IDS
        with pytest.raises(ValueError):  # noqa: PT011
            IDS.index(other)
    with pytest.raises(ValueError):  # noqa: PT011
        IDS.index(TEXTS[0], 1)
