// Remove the (locked) model with its versions, if no run of it is left and nobody else holds the lease.
// Parameters: node (the model's), holder (of the lease, perhaps).
MATCH (m:HeatModel)
WHERE elementId(m) = $node AND coalesce(m.leaseHolder = $holder OR m.leaseUntil < datetime(), true)
  AND NOT EXISTS { MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name}) }
CALL (m) {
  MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  DELETE v
}
WITH m, m.name AS name
DETACH DELETE m
RETURN name
