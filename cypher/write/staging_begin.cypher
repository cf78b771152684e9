// Record that a version without a new run is being staged. No row if we have lost the lease.
// Parameters: node (the model's), holder, run (whose version is staged).
@lease
SET m.staging = $run
RETURN m.staging AS staging
