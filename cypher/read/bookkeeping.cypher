// The model nodes, each with its published version (null if nothing is), and the run nodes, latest first; a run that is
// being written is alive as the last batch with any lock of the lease was. A node with another label, too, is a user's.
// Parameters: current (true leaves out runs of which nothing is in the graph).
CALL () {
  MATCH (m:HeatModel {createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
  // Read once: the node of a version never changes, this number does.
  WITH m {.*} AS model
  // One that is deleted meanwhile has lost its name.
  WHERE model.name IS NOT NULL
  OPTIONAL MATCH (v:HeatVersion {createdBy: 'heat_neo4j', model: model.name, number: model.version})
  WITH model, v ORDER BY model.name
  RETURN collect({model: model, version: properties(v)}) AS models
}
CALL () {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j'})
  WHERE size(labels(r)) = 1 AND (NOT $current OR size(r.stored) > 0 OR r.status IN ['incomplete', 'removing'])
  OPTIONAL MATCH (m:HeatModel {createdBy: 'heat_neo4j', name: r.model})-[lock:HEAT_WRITE_LOCK]->(m) WHERE r.status = 'incomplete'
  WITH r, max(lock.heartbeat) AS heartbeat
  WITH r {.*, heartbeat: heartbeat} AS run
  // One that is deleted meanwhile has lost some of its properties, or all.
  WHERE run.runId IS NOT NULL AND run.model IS NOT NULL AND run.parts IS NOT NULL AND run.status IS NOT NULL
  WITH run ORDER BY run.startedAt DESC, run.runId DESC
  RETURN collect(run) AS runs
}
RETURN models, runs
