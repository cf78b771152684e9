// The most surprising relationships: those between nodes that are farthest apart.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all relationships once.
//
// Put the property to show in the place of `name`; a node without it is shown by its element id.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param k => 10                    how many
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (a)-[r]->(b)
WHERE NOT type(r) IN predicted AND a.`heatEmbedding` IS NOT NULL AND b.`heatEmbedding` IS NOT NULL AND a <> b
WITH DISTINCT a, b, type(r) AS type
WITH a, b, type, a.`heatEmbedding` AS u, b.`heatEmbedding` AS v,
     a.`heatRadius` AS radius, b.`heatRadius` AS otherRadius
WITH a, b, type, radius, otherRadius, 4.0 / (2.0 + exp(radius) + exp(-radius)) AS gapU,
     4.0 / (2.0 + exp(otherRadius) + exp(-otherRadius)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square
WITH a, b, type, radius, otherRadius, 2.0 * square / (gapU * gapV) AS z
RETURN coalesce(a.`name`, elementId(a)) AS node, type, coalesce(b.`name`, elementId(b)) AS other,
       log(1.0 + z + sqrt(z * (z + 2.0))) AS distance,
       radius, otherRadius
ORDER BY distance DESC, node, other, type
LIMIT $k
