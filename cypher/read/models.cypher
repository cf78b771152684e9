// The model nodes, each with its published version (null if nothing is).
MATCH (m:HeatModel {createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
// Read once: the node of a version never changes, this number does.
WITH m {.*} AS model
// One that is deleted meanwhile has lost its name.
WHERE model.name IS NOT NULL
OPTIONAL MATCH (v:HeatVersion {createdBy: 'heat_neo4j', model: model.name, number: model.version})
RETURN model, properties(v) AS version
ORDER BY model.name
