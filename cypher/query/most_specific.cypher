// The most specific nodes: those furthest from the centre, the tips of the hierarchy.
//
// :param model => "heat"            name of the published embedding
// :param property => "name"         the property to show
// :param k => 10                    how many
MATCH (m:HeatModel {name: $model})
// All of it at once: meanwhile the node may be turned to another version.
WITH properties(m) AS m
MATCH (n) WHERE n[m.runProperty] = m.run
RETURN n[$property] AS node, n[m.radiusProperty] AS radius
ORDER BY radius DESC, node
LIMIT $k
