// The flip: the (locked) model points to the version that was made for it. No row if that is gone, since others made one
// meanwhile. One property changes that readers go by, as they could see some of several: Neo4j reads
// properties one by one, and keeps no snapshot. Parameters: model, token.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
SET m.version = v.number
RETURN m.version AS version
