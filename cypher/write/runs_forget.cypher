// Delete the nodes of a model's runs without values in the graph, except the latest ones.
// Parameters: node (the model's), holder, records (how many of them stay).
@lease
CALL (m) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
  WHERE r.status IN ['superseded', 'rejected'] AND r.stored = [] AND size(labels(r)) = 1
  WITH r ORDER BY r.startedAt DESC, r.runId DESC
  SKIP $records
  DETACH DELETE r
  RETURN count(*) AS forgotten
}
RETURN forgotten
