"""What an answer to "which nodes are nearest?" looks like as data."""

import json

from heat_neo4j.database.index.nearest import Neighbour, Neighbours


def test_an_answer_is_json_data():
    near = Neighbour(
        element_id="4:x:7", labels=("Paper", "Review"), name="A", distance=0.5, radius=1.25,
        properties={"title": "A", "year": None},
    )  # fmt: skip
    answer = Neighbours("4:x:1", "papers", (near,), True, 60)
    assert json.loads(json.dumps(answer.to_dict())) == {
        "element_id": "4:x:1",
        "model": "papers",
        "certified": True,
        "fetch": 60,
        "nodes": [
            {
                "element_id": "4:x:7",
                "labels": ["Paper", "Review"],
                "name": "A",
                "distance": 0.5,
                "radius": 1.25,
                "properties": {"title": "A", "year": None},
                "key": None,
                "steps": None,
            }
        ],
    }
    assert Neighbours("4:x:1", "papers", (), True, None).to_dict()["nodes"] == ()


def test_a_property_that_is_called_distance_has_a_column_of_its_own():
    near = Neighbour(
        element_id="4:x:7", labels=(), name="A", distance=0.5, radius=1.25, properties={"distance": 7, "b": 1}
    )
    frame = Neighbours("4:x:1", "papers", (near,), True, 60).to_frame("pandas")
    assert frame[["distance", "distance (property)", "b"]].values.tolist() == [[0.5, 7, 1]]
