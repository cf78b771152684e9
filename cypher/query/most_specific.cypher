// The most specific nodes: those furthest from the centre, the tips of the hierarchy.
//
// Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the published embedding
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (n) WHERE n[m.runProperty] = m.run
RETURN n.`name` AS node, n[m.radiusProperty] AS radius
ORDER BY radius DESC, node
LIMIT $k
