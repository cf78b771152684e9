// What lies between two nodes: those with the smallest detour from one to the other.
//
// Detour of c: d(a,c) + d(c,b) - d(a,b), 0 on the straight line from a to b.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all nodes once.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param value => "asyncio"         required: the value of the first node
// :param other => "threading"       required: the value of the second node
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
MATCH (b:`Module` {`name`: $other}) WHERE b.`heatEmbedding` IS NOT NULL
WITH a, b, a.`heatEmbedding` AS u, b.`heatEmbedding` AS v,
     4.0 / (2.0 + exp(a.`heatRadius`) + exp(-a.`heatRadius`)) AS gapU,
     4.0 / (2.0 + exp(b.`heatRadius`) + exp(-b.`heatRadius`)) AS gapV
WITH a, b, u, v, gapU, gapV, 2.0 * reduce(sum = 0.0, i IN range(0, size(u) - 1) |
       sum + (u[i] - v[i]) * (u[i] - v[i])) / (gapU * gapV) AS z
WITH a, b, u, v, gapU, gapV, log(1.0 + z + sqrt(z * (z + 2.0))) AS direct
MATCH (c) WHERE c.`heatEmbedding` IS NOT NULL AND c <> a AND c <> b
WITH c, u, v, gapU, gapV, direct, c.`heatEmbedding` AS w, c.`heatRadius` AS radius,
     4.0 / (2.0 + exp(c.`heatRadius`) + exp(-c.`heatRadius`)) AS gapW
WITH c, direct, radius,
     2.0 * reduce(sum = 0.0, i IN range(0, size(w) - 1) |
       sum + (u[i] - w[i]) * (u[i] - w[i])) / (gapU * gapW) AS y,
     2.0 * reduce(sum = 0.0, i IN range(0, size(w) - 1) |
       sum + (v[i] - w[i]) * (v[i] - w[i])) / (gapV * gapW) AS z
WITH c, direct, radius, log(1.0 + y + sqrt(y * (y + 2.0))) AS distance,
     log(1.0 + z + sqrt(z * (z + 2.0))) AS otherDistance
RETURN c.`name` AS node, radius, distance, otherDistance, distance + otherDistance - direct AS detour
ORDER BY detour, node
LIMIT $k
