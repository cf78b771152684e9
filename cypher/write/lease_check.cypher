// Check that we hold the lease, and renew it. No row if we do not.
// Parameters: node (the model's), holder, seconds.
@lease
SET m.leaseUntil = datetime() + duration({seconds: $seconds})
RETURN m.leaseUntil AS until
