// Part of neighbours_line: candidates of the vector index around points of the line through the centre and the node, and
// the most general nodes, which it misses. Parameters: heat_fetch, heat_side.
UNWIND range(0, 8) AS point
WITH u, norm, m, CASE WHEN $heat_side < 0 THEN radius * point / 8.0 ELSE radius + point * 0.75 END AS away
WITH m, [x IN u | x * (1.0 - 2.0 / (1.0 + exp(away))) / norm] AS point
UNWIND m.indexes AS index
CALL db.index.vector.queryNodes(index, $heat_fetch, point) YIELD node AS n
RETURN n, null AS steps
UNION ALL
UNWIND m.core AS id
MATCH (n) WHERE elementId(n) = id
RETURN n, null AS steps
