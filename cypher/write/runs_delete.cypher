// Delete the nodes of runs without values in the graph. Parameters: node (the model's), holder, runs.
@lease
CALL (m) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
  WHERE r.runId IN $runs AND size(labels(r)) = 1
  DETACH DELETE r
}
RETURN m.name AS model
