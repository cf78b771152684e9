// Say on the node of an unfinished run why it stopped. Parameters: run, error.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j', status: 'incomplete'})
SET r.error = $error
