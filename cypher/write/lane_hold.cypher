// Lock a lane of the run, then see that the run may still write: one row if so, none if it was taken over or
// cleared. First statement of every batch; the order matters, what is read must be read after the lock was taken.
// Parameters: run, lane.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})-[lane:HEAT_LANE {lane: $lane}]->(r)
SET lane.heartbeat = datetime()
WITH r, lane
WHERE lane.heartbeat IS NOT NULL AND r.status = 'incomplete'
RETURN r.runId AS run
