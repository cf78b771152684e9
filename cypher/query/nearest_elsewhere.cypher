// The nodes nearest to one node that belong to another group.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all nodes once.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param value => "asyncio"         required: the value of the node
// :param group => "package"         required: property that must differ from that of the node
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
WITH a, a.`heatEmbedding` AS u, a.`heatRadius` AS r
WITH a, u, 4.0 / (2.0 + exp(r) + exp(-r)) AS gapU
MATCH (b) WHERE b.`heatEmbedding` IS NOT NULL AND b[$group] <> a[$group]
WITH b, b.`heatEmbedding` AS v, b.`heatRadius` AS r, u, gapU
WITH b, gapU, 4.0 / (2.0 + exp(r) + exp(-r)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square
WITH b, 2.0 * square / (gapU * gapV) AS z
RETURN b.`name` AS node, b[$group] AS group, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
ORDER BY distance, node
LIMIT $k
