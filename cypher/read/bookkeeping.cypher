// The model nodes, each with its published version (null if nothing is), and the run nodes, latest first; the
// heartbeat of a run that is being written is its last batch. A node with another label too belongs to the user.
// Parameters: current (true leaves out runs of which nothing is in the graph).
CALL () {
  MATCH (m:HeatModel {createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
  // Read it once: the number changes, the node of a version does not.
  WITH m {.*} AS model
  // A concurrently deleted node has lost its name.
  WHERE model.name IS NOT NULL
  OPTIONAL MATCH (v:HeatVersion {createdBy: 'heat_neo4j', model: model.name, number: model.version})
  WITH model, v ORDER BY model.name
  RETURN collect({model: model, version: properties(v)}) AS models
}
CALL () {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j'})
  WHERE size(labels(r)) = 1 AND (NOT $current OR r.stored <> [] OR r.status IN ['incomplete', 'removing'])
  OPTIONAL MATCH (m:HeatModel {createdBy: 'heat_neo4j', name: r.model})-[lock:HEAT_WRITE_LOCK]->(m) WHERE r.status = 'incomplete'
  WITH r, max(lock.heartbeat) AS heartbeat
  WITH r {.*, heartbeat: heartbeat} AS run
  // A concurrently deleted node has lost some or all of its properties.
  WHERE run.runId IS NOT NULL AND run.model IS NOT NULL AND run.parts IS NOT NULL AND run.status IS NOT NULL
  WITH run ORDER BY run.startedAt DESC, run.runId DESC
  RETURN collect(run) AS runs
}
RETURN models, runs
