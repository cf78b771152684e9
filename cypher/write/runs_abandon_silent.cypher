// Runs of the model that never finished and have been silent for some time: as in runs_abandon.
// Parameters: model, seconds.
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: $model, status: 'incomplete'})
OPTIONAL MATCH (r)-[lane:HEAT_LANE]->(r)
WITH r, collect(lane) AS lanes, max(coalesce(lane.heartbeat, r.heartbeat)) AS batch
WHERE r.heartbeat < datetime() - duration({seconds: $seconds})
  AND coalesce(batch, r.heartbeat) < datetime() - duration({seconds: $seconds})
SET r.status = 'removing'
FOREACH (lane IN lanes | DELETE lane)
