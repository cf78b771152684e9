// Hold the lease for some time more. No row if it is not ours any more. Parameters: model, holder, seconds.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m.lock = true REMOVE m.lock
WITH m WHERE m.leaseHolder = $holder
SET m.leaseUntil = datetime() + duration({seconds: $seconds})
RETURN m.leaseUntil AS until
