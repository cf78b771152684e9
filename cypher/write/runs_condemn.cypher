// Runs whose data is about to be removed; a run that is still being written stops at its next batch.
// Parameters: runs.
MATCH (r:HeatRun {createdBy: 'heat_neo4j'})
WHERE r.runId IN $runs
SET r.status = 'removing'
WITH r
MATCH (r)-[lane:HEAT_LANE]->(r)
DELETE lane
