// The nodes nearest to one node, approximately: the best candidates that the vector index finds around it.
//
// One search in the index, then the exact distance of each candidate. It misses some of the nearest nodes without saying
// so; the query nearest searches twice and says whether it is complete.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / ((1 - |u|^2) (1 - |v|^2)), where
// 4 / (1 - |u|^2) = 2 + exp(r) + exp(-r) for a node of radius r
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// :param model => "heat"            name of the published embedding
// :param value => "asyncio"         required: the value of the node
// :param k => 10                    how many
// :param fetch => 100               candidates of the search
CYPHER 5
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:`Module` {`name`: $value}) WHERE coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
WITH m, a, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r
WITH m, a, u, 2.0 + exp(r) + exp(-r) AS c
UNWIND m.indexes AS index
CALL db.index.vector.queryNodes(index, $fetch, u) YIELD node AS b
WITH DISTINCT m, a, u, c, b WHERE b <> a AND coalesce(b[m.stagedRun], b[m.runProperty]) = m.space
WITH m, u, c, b, coalesce(b[m.stagedRadius], b[m.radiusProperty]) AS r,
     coalesce(b[m.stagedVector], b[m.vectorProperty]) AS v
WITH b, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN b.`name` AS node, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, r AS radius
ORDER BY distance, node
LIMIT $k
