// Release the lease if we hold it. Delete a model without runs, and its versions.
// Parameters: node (the model's), holder.
@lease
SET m.leaseHolder = null, m.leaseUntil = null
WITH m
CALL (m) {
  MATCH (m)-[lock:HEAT_WRITE_LOCK]->(m)
  DELETE lock
}
WITH m WHERE NOT EXISTS { MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name}) WHERE size(labels(r)) = 1 }
CALL (m) {
  MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'}) WHERE size(labels(v)) = 1
  DELETE v
}
DETACH DELETE m
