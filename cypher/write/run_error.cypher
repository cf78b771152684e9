// Record on the node of an unpublished run why it stopped. Parameters: run, error.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'}) WHERE r.status <> 'complete'
SET r.error = $error
