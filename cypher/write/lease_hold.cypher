// Part of other statements: lock the model's node, then check that we still hold the lease; m is kept only then.
// Setting and removing a property takes a lock without a trace. Everything read after it is read under the lock.
// Parameters: node (the model's), holder.
MATCH (m:HeatModel) WHERE elementId(m) = $node
SET m.lock = true REMOVE m.lock
WITH m WHERE m.leaseHolder = $holder
