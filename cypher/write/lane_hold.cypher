// Part of other statements: lock a lane of the lease, so that as many batches go on at once; lane goes on only if
// there still is one. Whoever takes the lease deletes the lanes of the holder before, which waits for batches under
// way and stops those to come. The order matters: what is read must be read after the lock was taken.
// Parameters: model, lane, holder.
MATCH (:HeatModel {name: $model, createdBy: 'heat_neo4j'})-[lane:HEAT_LANE {lane: $lane, holder: $holder}]->()
SET lane.heartbeat = datetime()
WITH lane WHERE lane.heartbeat IS NOT NULL
