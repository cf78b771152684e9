// Create the node of a rejected run, which wrote nothing; the published version stays. Repeating the transaction is
// harmless. Parameters: run, properties.
MERGE (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
ON CREATE SET r += $properties, r.status = 'rejected', r.startedAt = datetime(), r.finishedAt = datetime()
WITH r
MATCH (p:HeatRun {runId: r.previousRun, createdBy: 'heat_neo4j'})
MERGE (r)-[:HEAT_PREVIOUS]->(p)
