// Runs of the model that never finished: their batches can write nothing from here on, and what they wrote is
// removed. Waits for a batch that is being written, which holds its run node. Parameters: model, run (the new one).
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: $model, status: 'incomplete'})
WHERE r.runId <> $run
SET r.status = 'removing'
