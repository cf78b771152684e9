// Record that nothing is staged any more; delete the nodes of dead runs, whose remains are removed.
// Parameters: node (the model's), holder.
@lease
SET m.staging = null
WITH m
CALL (m) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name, status: 'removing'}) WHERE size(labels(r)) = 1
  DETACH DELETE r
}
RETURN m.name AS model
