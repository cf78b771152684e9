// The nodes nearest to one node that are of another kind: the ties that reach out of its own group.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all nodes once.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// :param model => "heat"            name of the published embedding
// :param value => "asyncio"         required: the value of the node whose neighbours are wanted
// :param group => "package"         required: the property in which neighbours must differ from it
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version, coordinates: 'poincare'})
MATCH (a:`Module` {`name`: $value}) WHERE a[m.runProperty] = m.run
WITH m, a, a[m.embeddingProperty] AS u, a[m.radiusProperty] AS r
WITH m, a, u, 4.0 / (2.0 + exp(r) + exp(-r)) AS gapU
MATCH (b) WHERE b[m.runProperty] = m.run AND b[$group] <> a[$group]
WITH b, b[m.embeddingProperty] AS v, b[m.radiusProperty] AS r, u, gapU
WITH b, gapU, 4.0 / (2.0 + exp(r) + exp(-r)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square
WITH b, 2.0 * square / (gapU * gapV) AS z
RETURN b.`name` AS node, b[$group] AS group, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
ORDER BY distance, node
LIMIT $k
