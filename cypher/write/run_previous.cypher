// Relate a run to the one that was published when it began, if that is still known. Parameters: run.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
MATCH (p:HeatRun {runId: r.previousRun, createdBy: 'heat_neo4j'})
MERGE (r)-[:HEAT_PREVIOUS]->(p)
