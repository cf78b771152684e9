// Give the lease back, if it is ours. Parameters: model, holder.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m.lock = true REMOVE m.lock
WITH m WHERE m.leaseHolder = $holder
SET m.leaseHolder = null, m.leaseUntil = null
