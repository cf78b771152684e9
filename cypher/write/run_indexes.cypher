// Note the names of a run's indexes on its node, before there are any, so that whoever removes the run finds them. No
// row if the run was taken over or cleared. Parameters: run, status (that it must have), vector (property), indexes.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.lock = true REMOVE r.lock
WITH r WHERE r.status = $status
SET r.vectorProperty = $vector, r.indexes = $indexes
RETURN r.runId AS run
