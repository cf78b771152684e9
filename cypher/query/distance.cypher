// The hyperbolic distance of two nodes, and how far each is from the centre.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / (gapU gapV). Near the rim 1 - |u|^2
// loses its digits, so the gap is taken from the radius r: gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)).
//
// :param model => "heat"            name of the published embedding
// :param label => "Module"          label of both nodes
// :param property => "name"         the property that tells them apart,
// :param value => "asyncio"         its value for the one
// :param other => "threading"       and for the other
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version, coordinates: 'poincare'})
MATCH (a:$($label)) WHERE a[$property] = $value AND a[m.runProperty] = m.run
MATCH (b:$($label)) WHERE b[$property] = $other AND b[m.runProperty] = m.run
WITH a, b, a[m.embeddingProperty] AS u, b[m.embeddingProperty] AS v,
     a[m.radiusProperty] AS radius, b[m.radiusProperty] AS otherRadius
WITH a, b, radius, otherRadius, 4.0 / (2.0 + exp(radius) + exp(-radius)) AS gapU,
     4.0 / (2.0 + exp(otherRadius) + exp(-otherRadius)) AS gapV,
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) AS square
WITH a, b, radius, otherRadius, 2.0 * square / (gapU * gapV) AS z
RETURN a[$property] AS node, b[$property] AS other, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance,
       radius, otherRadius
