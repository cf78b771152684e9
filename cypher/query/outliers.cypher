// The nodes that are farthest from their neighbours on average.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all nodes and relationships once.
//
// Put the property to show in the place of `name`; a node without it is shown by its element id.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param minDegree => 3             minimum number of relationships, without predicted ones
// :param k => 10                    how many
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (n) WHERE n.`heatEmbedding` IS NOT NULL
WITH predicted, n, COUNT { (n)-[t]-() WHERE NOT type(t) IN predicted } AS degree
WHERE degree >= $minDegree
MATCH (n)-[r]-(c) WHERE NOT type(r) IN predicted AND c.`heatEmbedding` IS NOT NULL AND c <> n
WITH DISTINCT n, degree, c
WITH n, degree, n.`heatRadius` AS radius, n.`heatEmbedding` AS u, c.`heatEmbedding` AS v,
     4.0 / (2.0 + exp(n.`heatRadius`) + exp(-n.`heatRadius`)) AS gapU,
     4.0 / (2.0 + exp(c.`heatRadius`) + exp(-c.`heatRadius`)) AS gapV
WITH n, degree, radius, 2.0 * reduce(sum = 0.0, i IN range(0, size(u) - 1) |
       sum + (u[i] - v[i]) * (u[i] - v[i])) / (gapU * gapV) AS z
WITH n, degree, radius, avg(log(1.0 + z + sqrt(z * (z + 2.0)))) AS meanDistance
RETURN coalesce(n.`name`, elementId(n)) AS node, meanDistance, degree, radius
ORDER BY meanDistance DESC, node
LIMIT $k
