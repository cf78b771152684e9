// Lock the model and the run, then read the run's status and what the model points to. No row if either is gone.
// Parameters: model, run.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m.lock = true REMOVE m.lock
WITH m WHERE m.name IS NOT NULL
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.heartbeat = datetime()
RETURN r.status AS status, properties(m) AS model
