// Give the lease back, if it is ours. A model of which no run is left goes with its versions.
// Parameters: node (the model's), holder.
@lease
SET m.leaseHolder = null, m.leaseUntil = null
WITH m
CALL (m) {
  MATCH (m)-[lock:HEAT_WRITE_LOCK]->(m)
  DELETE lock
}
WITH m WHERE NOT EXISTS { MATCH (:HeatRun {createdBy: 'heat_neo4j', model: m.name}) }
CALL (m) {
  MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  DELETE v
}
DETACH DELETE m
