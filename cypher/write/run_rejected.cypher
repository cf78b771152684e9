// The node of a run that did not pass: nothing of it was written, and what was published stays. A repetition of the
// transaction makes nothing twice. Parameters: run, properties.
MERGE (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
ON CREATE SET r += $properties, r.status = 'rejected', r.startedAt = datetime(), r.finishedAt = datetime()
WITH r
MATCH (p:HeatRun {runId: r.previousRun, createdBy: 'heat_neo4j'})
MERGE (r)-[:HEAT_PREVIOUS]->(p)
