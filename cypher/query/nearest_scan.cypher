// The nodes nearest to one node, from a scan of all nodes: exact, without an index, slow on large graphs.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / ((1 - |u|^2) (1 - |v|^2)), where
// 4 / (1 - |u|^2) = 2 + exp(r) + exp(-r) for a node of radius r. Looks at all nodes once.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param value => "asyncio"         required: the value of the node
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
WITH a, a.`heatEmbedding` AS u, 2.0 + exp(a.`heatRadius`) + exp(-a.`heatRadius`) AS c
MATCH (b) WHERE b.`heatEmbedding` IS NOT NULL AND b <> a
WITH b, b.`heatRadius` AS r, b.`heatEmbedding` AS v, u, c
WITH b, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN b.`name` AS node, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, r AS radius
ORDER BY distance, node
LIMIT $k
