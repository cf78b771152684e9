// Give the lease of the (locked) model back, if it is ours. Parameters: node (the model's), holder.
MATCH (m:HeatModel) WHERE elementId(m) = $node AND m.leaseHolder = $holder
SET m.leaseHolder = null, m.leaseUntil = null
