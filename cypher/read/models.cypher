// The model nodes, each with its published version (null if nothing is).
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
// Read once: the node of a version never changes, this number does.
WITH m, m.version AS number
OPTIONAL MATCH (v:HeatVersion {createdBy: 'heat_neo4j', model: m.name, number: number})
RETURN m {.*, version: number} AS model, properties(v) AS version
ORDER BY m.name
