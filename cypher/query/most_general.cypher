// The most general nodes: those nearest to the centre, where everything meets.
//
// A node with few relationships lies where its attributes put it, so it is left out here. Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the published embedding
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
RETURN n.`name` AS node, radius, degree
ORDER BY radius, node
LIMIT $k
