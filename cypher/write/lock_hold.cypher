// Part of other statements: take one of the lease's write locks, so that batches run concurrently; stop if there is
// none. A new holder of the lease deletes the previous holder's locks, which waits for running batches and stops later
// ones. The order matters: read only after the lock was taken.
// Parameters: model, lock, holder.
MATCH (:HeatModel {name: $model, createdBy: 'heat_neo4j'})-[lock:HEAT_WRITE_LOCK {number: $lock, holder: $holder}]->()
SET lock.heartbeat = datetime()
WITH lock WHERE lock.heartbeat IS NOT NULL
