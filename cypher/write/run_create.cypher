// The run's node, made before the first value of the run is written, so that a run that died can be found and what it
// left removed. A repetition of the transaction makes nothing twice. No row if the lease is not ours any more.
// Parameters: node (the model's), holder, run, properties.
@lease
SET m.staging = $run
MERGE (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
ON CREATE SET r += $properties, r.status = 'incomplete', r.startedAt = datetime()
WITH r
CALL (r) {
  MATCH (p:HeatRun {runId: r.previousRun, createdBy: 'heat_neo4j'})
  MERGE (r)-[:HEAT_PREVIOUS]->(p)
}
RETURN r.runId AS run
