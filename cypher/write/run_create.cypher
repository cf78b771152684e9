// Create the run's node before the first value of the run is written, so that the remains of a crashed run can be found
// and removed. Repeating the transaction is harmless. No row if we have lost the lease.
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
