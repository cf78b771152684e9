// The run nodes, latest first; one that is being written is alive as the last batch in any lane of the lease was.
// Parameters: current (true leaves out those of which nothing is in the graph).
MATCH (r:HeatRun {createdBy: 'heat_neo4j'})
WHERE NOT $current OR size(r.stored) > 0 OR r.status IN ['incomplete', 'removing']
OPTIONAL MATCH (m:HeatModel {createdBy: 'heat_neo4j', name: r.model})-[lane:HEAT_LANE]->(m) WHERE r.status = 'incomplete'
WITH r, max(lane.heartbeat) AS heartbeat
WITH r {.*, heartbeat: heartbeat} AS run
// One that is deleted meanwhile has lost some of its properties, or all.
WHERE run.runId IS NOT NULL AND run.model IS NOT NULL AND run.parts IS NOT NULL AND run.status IS NOT NULL
RETURN run
ORDER BY run.startedAt DESC, run.runId DESC
