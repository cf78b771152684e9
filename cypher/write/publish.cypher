// What belongs to the flip of a run: it becomes complete, and its lanes go. No row if it was taken over or is gone.
// Parameters: node (the model's), run, outcome (of the run).
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.heartbeat = datetime()
WITH m, r WHERE r.status = 'incomplete'
SET r += $outcome, r.status = 'complete', r.finishedAt = datetime(), m.publishedAt = datetime()
WITH r
OPTIONAL MATCH (r)-[lane:HEAT_LANE]->(r)
DELETE lane
RETURN DISTINCT r.runId AS run
