// Part of other statements: take a write lock of the lease, one of several, for batches at once; it goes on only if
// there still is one. Whoever takes the lease deletes the locks of the holder before, which waits for batches under
// way and stops those to come. The order matters: what is read must be read after the lock was taken.
// Parameters: model, lock, holder.
MATCH (:HeatModel {name: $model, createdBy: 'heat_neo4j'})-[lock:HEAT_WRITE_LOCK {number: $lock, holder: $holder}]->()
SET lock.heartbeat = datetime()
WITH lock WHERE lock.heartbeat IS NOT NULL
