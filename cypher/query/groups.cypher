// Where groups of nodes lie: the centre of each group, how general it is, and how close its members are to it.
//
// A group is a value of a property; a node whose value is a list is in several. Centre: the sum of the points
// of the hyperboloid, x = 2 u / gap and t = (2 - gap) / gap, divided by its Lorentz norm sqrt(t^2 - |x|^2).
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV),
// gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius. Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param group => "package"         required: the property whose values are the groups
// :param k => 10                    how many, the largest first
MATCH (n) WHERE n.`heatEmbedding` IS NOT NULL
UNWIND n[$group] AS value
WITH DISTINCT value, n, n.`heatEmbedding` AS u, n.`heatRadius` AS r
WITH value, count(*) AS nodes,
     collect({node: n.`name`, u: u, gap: 4.0 / (2.0 + exp(r) + exp(-r))}) AS members
ORDER BY nodes DESC, value
LIMIT $k
WITH value, nodes, members, reduce(sum = 0.0, p IN members | sum + (2.0 - p.gap) / p.gap) AS t,
     [i IN range(0, size(members[0].u) - 1) |
       reduce(sum = 0.0, p IN members | sum + 2.0 * p.u[i] / p.gap)] AS x
WITH value, nodes, members, t, x, sqrt(reduce(sum = 0.0, c IN x | sum + c * c)) AS length
WITH value, nodes, members, t, x, length, (t - length) * (t + length) AS square
// The norm is the number of nodes at least; far out, rounding could say less.
WITH value, nodes, members, t, x, length,
     CASE WHEN square < nodes * nodes THEN toFloat(nodes) ELSE sqrt(square) END AS norm
WITH value, nodes, members, [c IN x | c / (t + norm)] AS v, 2.0 * norm / (t + norm) AS gapV,
     log(length / norm + sqrt(length * length / (norm * norm) + 1.0)) AS radius
UNWIND members AS p
WITH value, nodes, radius, p.node AS node, 2.0 * reduce(sum = 0.0, i IN range(0, size(v) - 1) |
       sum + (p.u[i] - v[i]) * (p.u[i] - v[i])) / (p.gap * gapV) AS z
WITH value, nodes, radius, node, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
ORDER BY distance, node
WITH value, nodes, radius, avg(distance) AS meanDistance, collect(node)[0] AS nearest
RETURN value AS group, nodes, radius, meanDistance, nearest
ORDER BY nodes DESC, group
