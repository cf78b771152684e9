// Remove the node of a run of which no data is left. Parameters: run.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.lock = true REMOVE r.lock
WITH r
WHERE r.status = 'removing' AND size(r.stored) = 0
DETACH DELETE r
