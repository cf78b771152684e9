// The hyperbolic distance of two nodes, and how far each is from the centre.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV). Near the rim 1 - |u|^2
// loses its digits, so the gap is taken from the radius r: gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)).
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param value => "asyncio"         required: the value of the first node
// :param other => "threading"       required: the value of the second node
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
MATCH (b:`Module` {`name`: $other}) WHERE b.`heatEmbedding` IS NOT NULL
WITH a, b, a.`heatEmbedding` AS u, b.`heatEmbedding` AS v,
     a.`heatRadius` AS radius, b.`heatRadius` AS otherRadius
WITH a, b, radius, otherRadius, 4.0 / (2.0 + exp(radius) + exp(-radius)) AS gapU,
     4.0 / (2.0 + exp(otherRadius) + exp(-otherRadius)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square
WITH a, b, radius, otherRadius, 2.0 * square / (gapU * gapV) AS z
RETURN a.`name` AS node, b.`name` AS other, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance,
       radius, otherRadius
