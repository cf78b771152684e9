// Part of around: candidates of the vector index, and the most general nodes, which it misses. Parameters: heat_fetch.
UNWIND m.indexes AS index
CALL db.index.vector.queryNodes(index, $heat_fetch, u) YIELD node AS n
RETURN n
UNION
UNWIND m.core AS core
MATCH (n) WHERE elementId(n) = core
RETURN n
