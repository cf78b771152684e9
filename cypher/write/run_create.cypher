// The run's node, made before the first value of the run is written, so that a run that died can be found
// and removed. A repetition of the transaction makes no second one. Parameters: run, properties.
MERGE (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
ON CREATE SET r += $properties, r.status = 'incomplete', r.startedAt = datetime(), r.heartbeat = datetime()
