// The node of a version that the (locked) model shall be turned to, under the next number; it goes unread until then.
// Those that others made and never turned to are removed. A repetition of the transaction makes nothing twice.
// Parameters: model, token (by which whoever made it knows it), properties.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
CALL (m) {
  MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  WHERE v.number > coalesce(m.version, 0)
  DELETE v
}
CREATE (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: coalesce(m.version, 0) + 1, token: $token})
SET v += $properties
