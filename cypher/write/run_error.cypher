// Say on the node of a run that is not published why it stopped. Parameters: run, error.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'}) WHERE r.status <> 'complete'
SET r.error = $error
