// The nodes nearest to one node, approximately: the best candidates that SEARCH finds around it.
//
// For servers that have SEARCH, where the name of an index cannot be a parameter.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / ((1 - |u|^2) (1 - |v|^2)), where
// 4 / (1 - |u|^2) = 2 + exp(r) + exp(-r) for a node of radius r
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's index, which the query published shows, in the place of `heat_Module`.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param model => "heat"            name of the published embedding
// :param value => "asyncio"         required: the value of the node
// :param k => 10                    how many
// :param fetch => 100               candidates of the search
CYPHER 25
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
WITH m, a, a.`heatEmbedding` AS u, 2.0 + exp(a.`heatRadius`) + exp(-a.`heatRadius`) AS c
MATCH (b) SEARCH b IN (VECTOR INDEX `heat_Module` FOR u LIMIT $fetch)
WITH DISTINCT m, a, u, c, b WHERE b <> a
WITH m, u, c, b, b.`heatRadius` AS r, b.`heatEmbedding` AS v
WITH b, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN b.`name` AS node, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, r AS radius
ORDER BY distance, node
LIMIT $k
