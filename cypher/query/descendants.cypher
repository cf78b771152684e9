// The likely descendants of a node: more specific nodes near the straight line from the centre through it.
//
// Detour: how much longer the way from the centre o to b is over node a, d(o,a) + d(a,b) - d(o,b); 0 on the
// line.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all nodes once.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param value => "asyncio"         required: the value of the node
// :param margin => 0.25             how much larger the radius of a descendant must be
// :param widest => 60.0             the widest angle at the centre, in degrees; 180 allows any
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
WITH a, a.`heatEmbedding` AS u, a.`heatRadius` AS r
WITH a, u, r, 4.0 / (2.0 + exp(r) + exp(-r)) AS gapU,
     sqrt(reduce(sum = 0.0, x IN u | sum + x * x)) AS normU
MATCH (b) WHERE b.`heatEmbedding` IS NOT NULL AND b <> a AND b.`heatRadius` >= r + $margin
WITH b, u, r, gapU, normU, b.`heatEmbedding` AS v, b.`heatRadius` AS radius
WITH b, r, radius, gapU, 4.0 / (2.0 + exp(radius) + exp(-radius)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + u[i] * v[i]) AS dot,
     normU * sqrt(reduce(sum = 0.0, x IN v | sum + x * x)) AS norms
WITH b, r, radius, 2.0 * square / (gapU * gapV) AS z,
     CASE WHEN dot >= norms THEN 1.0 WHEN dot <= -norms THEN -1.0 ELSE dot / norms END AS cosine
WITH b, r, radius, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, degrees(acos(cosine)) AS angle
WHERE angle <= $widest
RETURN b.`name` AS node, radius, angle, distance, r + distance - radius AS detour
ORDER BY detour, node
LIMIT $k
