// Note that nothing is staged any more; what dead runs left is gone, and so are their nodes.
// Parameters: node (the model's), holder.
@lease
SET m.staging = null
WITH m
CALL (m) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name, status: 'removing'})
  DETACH DELETE r
}
RETURN m.name AS model
