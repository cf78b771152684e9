// Unpublish a model's version without a successor. No row if we have lost the lease. Parameters: node (the model's),
// holder.
@lease
REMOVE m.version
WITH m
CALL (m) {
  MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'}) WHERE size(labels(v)) = 1
  DELETE v
}
CALL (m) {
  MATCH (m)-[p:HEAT_PUBLISHED]->()
  DELETE p
}
CALL (m) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name}) WHERE r.status IN ['complete', 'superseded']
  SET r.status = 'superseded', r.stored = []
}
RETURN m.name AS model
