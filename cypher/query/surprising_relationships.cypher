// The most surprising relationships: those whose ends are furthest apart.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all relationships once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the published embedding
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version, coordinates: 'poincare'})
WITH m, COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL RETURN DISTINCT h.linkType } AS predicted
MATCH (a)-[r]->(b)
WHERE NOT type(r) IN predicted AND a[m.runProperty] = m.run AND b[m.runProperty] = m.run AND a <> b
WITH DISTINCT m, a, b, type(r) AS type
WITH a, b, type, a[m.embeddingProperty] AS u, b[m.embeddingProperty] AS v,
     a[m.radiusProperty] AS radius, b[m.radiusProperty] AS otherRadius
WITH a, b, type, radius, otherRadius, 4.0 / (2.0 + exp(radius) + exp(-radius)) AS gapU,
     4.0 / (2.0 + exp(otherRadius) + exp(-otherRadius)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square
WITH a, b, type, radius, otherRadius, 2.0 * square / (gapU * gapV) AS z
RETURN a.`name` AS node, type, b.`name` AS other, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance,
       radius, otherRadius
ORDER BY distance DESC, node, other, type
LIMIT $k
