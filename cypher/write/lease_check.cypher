// See that the lease is ours, and hold it for some time more. No row if it is not.
// Parameters: node (the model's), holder, seconds.
@lease
SET m.leaseUntil = datetime() + duration({seconds: $seconds})
RETURN m.leaseUntil AS until
