// The flip: the (locked) model points to the version that was made for it. No row if there is none any more, or others
// turned the model since. One property changes that readers go by, as they could see some of several: Neo4j reads
// properties one by one, and keeps no snapshot. Parameters: model, token.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
WHERE v.number = coalesce(m.version, 0) + 1
SET m.version = v.number
RETURN m.version AS version
