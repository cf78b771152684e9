// The most specific nodes: those furthest from the centre, the tips of the hierarchy.
//
// :param model => "heat"            name of the published embedding
// :param property => "name"         the property to show
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (n) WHERE n[m.runProperty] = m.run
RETURN n[$property] AS node, n[m.radiusProperty] AS radius
ORDER BY radius DESC, node
LIMIT $k
