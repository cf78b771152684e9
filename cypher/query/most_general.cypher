// The most general nodes: those nearest to the centre, where everything meets.
//
// A node with few relationships lies where its attributes put it, so it is left out here.
//
// :param model => "heat"            name of the published embedding
// :param property => "name"         the property to show
// :param minDegree => 3             fewest relationships of a node (predicted ones do not count)
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
WITH m, COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL RETURN DISTINCT h.linkType } AS predicted
MATCH (n) WHERE n[m.runProperty] = m.run
WITH n, n[m.radiusProperty] AS radius, COUNT { (n)-[r]-() WHERE NOT type(r) IN predicted } AS degree
WHERE degree >= $minDegree
RETURN n[$property] AS node, radius, degree
ORDER BY radius, node
LIMIT $k
