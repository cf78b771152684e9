// Remove model nodes of which no run is left, with their versions, and on which nobody holds the lease. Parameters: model (null for all).
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
WHERE $model IS NULL OR m.name = $model
SET m.lock = true REMOVE m.lock
WITH m
WHERE coalesce(m.leaseUntil < datetime(), true)
  AND NOT EXISTS { MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name}) }
CALL (m) {
  MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  DELETE v
}
WITH m, m.name AS name
DETACH DELETE m
RETURN name
