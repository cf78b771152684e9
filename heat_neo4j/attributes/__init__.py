"""Property values of nodes as attribute columns.

Each property is learnt into a *recipe*, plain JSON data that says which columns it takes and how its values
fill them. The same recipe can be applied to other nodes later (`encode`).

| values of a property         | columns                                            | missing value  |
|------------------------------|----------------------------------------------------|----------------|
| numbers, booleans            | ``year``                                           | mean           |
| dates, with or without times | ``born``: days since 1970-01-01 UTC                | mean           |
| durations                    | ``took``: seconds                                  | mean           |
| times of day                 | ``opens:sin``, ``opens:cos``: the day as a circle  | means          |
| points of a plane or space   | ``at:x``, ``at:y``, perhaps ``at:z``               | means          |
| points of the globe          | the same of the unit sphere, perhaps ``at:height`` | means          |
| lists of numbers, one length | ``vector[0]``, ``vector[1]``, ...                  | means          |
| strings                      | ``venue=KDD``, ... one 1 a node                    | all 0          |
| lists of strings             | ``words=graph``, ... a 1 for each string           | all 0          |
| texts                        | ``abstract#17``, ... TF-IDF of hashed words        | all 0          |

Means are of the values present. What has means takes one more column if it is missing anywhere,
``year:missing``, which is 1 where it is. Strings beyond the cap on categories share one column,
``venue:other``. An attribute of one label is learnt on the nodes with that label, and its columns begin with
``Paper.``; all other nodes have its means, or 0 where it has none.
"""

from heat_neo4j.attributes.column import RecipeError
from heat_neo4j.attributes.dates import parse_date
from heat_neo4j.attributes.describing import described
from heat_neo4j.attributes.plain import Date, Duration, Point, TimeOfDay
from heat_neo4j.attributes.table import Attribute, Attributes, AttributeTable, encode

__all__ = [
    "Attribute",
    "AttributeTable",
    "Attributes",
    "Date",
    "Duration",
    "Point",
    "RecipeError",
    "TimeOfDay",
    "described",
    "encode",
    "parse_date",
]
