// Switch readers of the (locked) model to the version that was made for it. No row if that is gone.
// One property changes that readers go by, as they could see some of several: Neo4j reads properties one by one, and
// keeps no snapshot. Parameters: node (the model's), token.
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
SET m.version = v.number
RETURN m.version AS version
