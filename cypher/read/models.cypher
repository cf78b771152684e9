// The model nodes, each with its published version (null if nothing is).
MATCH (m:HeatModel {createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
// Read it once: the number changes, the node of a version does not.
WITH m {.*} AS model
// A concurrently deleted node has lost its name.
WHERE model.name IS NOT NULL
OPTIONAL MATCH (v:HeatVersion {createdBy: 'heat_neo4j', model: model.name, number: model.version})
RETURN model, properties(v) AS version
ORDER BY model.name
