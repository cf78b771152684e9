// Hold the lease of the (locked) model for some time more. No row if it is not ours any more. Parameters: node
// (the model's), holder, seconds.
MATCH (m:HeatModel) WHERE elementId(m) = $node AND m.leaseHolder = $holder
SET m.leaseUntil = datetime() + duration({seconds: $seconds})
RETURN m.leaseUntil AS until
