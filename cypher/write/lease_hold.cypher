// Part of other statements: lock the model's node, then see that the lease is still ours; m goes on only then.
// A property set and removed again is how Cypher takes a lock and leaves no trace; what is read after it is read
// under the lock. Parameters: node (the model's), holder.
MATCH (m:HeatModel) WHERE elementId(m) = $node
SET m.lock = true REMOVE m.lock
WITH m WHERE m.leaseHolder = $holder
