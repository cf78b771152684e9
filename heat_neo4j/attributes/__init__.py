"""Property values of nodes as attribute columns: numbers, booleans, lists of numbers, categories.

Each property is learnt into a *recipe*, plain JSON data that says which columns it takes and how its values
fill them. The same recipe can be applied to other nodes later (`encode`).

| values of a property       | columns                                           | missing value             |
|----------------------------|---------------------------------------------------|---------------------------|
| numbers, booleans          | ``year``                                          | mean of those present     |
| lists of numbers, one length | ``vector[0]``, ``vector[1]``, ...               | means of those present    |
| strings                    | ``venue=KDD``, ... one 1 a node                   | all 0                     |
| lists of strings           | ``words=graph``, ... a 1 for each string          | all 0                     |

A number or list that is missing anywhere takes one more column, ``year:missing``, which is 1 where it is.
Strings beyond the cap on categories share one column, ``venue:other``.
"""

from heat_neo4j.attributes.table import Attributes, AttributeTable, encode

__all__ = ["AttributeTable", "Attributes", "encode"]
