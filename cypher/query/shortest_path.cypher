// How two nodes are connected: among the paths with the fewest relationships, the shortest in hyperbolic space.
//
// Detour: how much longer the path is than the straight line. Paths contain no predicted links and no nodes without coordinates.
// A node without the property is shown by its element id.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param value => "asyncio"         required: the value of the first node
// :param other => "threading"       required: the value of the second node
// :param hops => 6                  maximum number of relationships, up to 10
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
MATCH (b:`Module` {`name`: $other}) WHERE b.`heatEmbedding` IS NOT NULL AND b <> a
// Only with both ends known here does the server search from both.
WITH a, b, COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH path = ALL SHORTEST (a)-[r WHERE NOT type(r) IN predicted]-{1,10}(b)
WHERE length(path) <= $hops AND all(n IN nodes(path) WHERE n.`heatEmbedding` IS NOT NULL)
WITH [n IN nodes(path) | coalesce(n.`name`, elementId(n))] AS path, nodes(path) AS way
WITH path, [n IN way | n.`heatEmbedding`] AS points,
     [n IN way | 4.0 / (2.0 + exp(n.`heatRadius`) + exp(-n.`heatRadius`))] AS gaps
// Pairs of places on the path: its two ends, then each step.
WITH path, points, gaps, [[0, size(points) - 1]] + [i IN range(1, size(points) - 1) | [i - 1, i]] AS pairs
WITH path, [p IN pairs | 2.0 * reduce(sum = 0.0, i IN range(0, size(points[0]) - 1) |
       sum + (points[p[0]][i] - points[p[1]][i]) * (points[p[0]][i] - points[p[1]][i]))
       / (gaps[p[0]] * gaps[p[1]])] AS zs
WITH path, [z IN zs | log(1.0 + z + sqrt(z * (z + 2.0)))] AS distances
WITH path, reduce(sum = 0.0, d IN distances[1..] | sum + d) AS length, distances[0] AS distance
RETURN path, length, distance, length - distance AS detour
ORDER BY length, path
LIMIT 1
