// The run nodes, latest first; a run that is being written is alive as its last batch in any lane was.
// Parameters: current (true leaves out those of which nothing is in the graph).
MATCH (r:HeatRun {createdBy: 'heat_neo4j'})
WHERE NOT $current OR size(r.stored) > 0 OR r.status IN ['incomplete', 'removing']
OPTIONAL MATCH (r)-[lane:HEAT_LANE]->(r)
WITH r, max(coalesce(lane.heartbeat, r.heartbeat)) AS batch
WITH r {.*, heartbeat: CASE WHEN batch > r.heartbeat THEN batch ELSE r.heartbeat END} AS run
// One that is deleted meanwhile has lost some of its properties, or all.
WHERE run.runId IS NOT NULL AND run.model IS NOT NULL AND run.parts IS NOT NULL AND run.status IS NOT NULL
RETURN run
ORDER BY run.startedAt DESC, run.runId DESC
