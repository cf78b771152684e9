// Note that a version is being staged which is of no new run. No row if the lease is not ours any more.
// Parameters: node (the model's), holder, run (whose version is staged).
@lease
SET m.staging = $run
RETURN m.staging AS staging
