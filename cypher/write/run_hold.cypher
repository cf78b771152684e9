// Lock the run node, then see that the run may still write: one row if so, none if it was taken over or cleared.
// First statement of every batch; the order matters, status must be read after the lock was taken.
// Parameters: run.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.heartbeat = datetime()
WITH r
WHERE r.status = 'incomplete'
RETURN r.runId AS run
