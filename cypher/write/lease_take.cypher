// Take the lease of the (locked) model, if nobody holds it, its time is over, or it is ours: one row, which says who
// holds it now, and until when. Parameters: model, holder, seconds.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
WITH m, coalesce(m.leaseHolder = $holder OR m.leaseUntil < datetime(), true) AS free
FOREACH (_ IN CASE WHEN free THEN [1] ELSE [] END |
  SET m.leaseHolder = $holder, m.leaseUntil = datetime() + duration({seconds: $seconds}))
RETURN free, m.leaseHolder AS holder, m.leaseUntil AS until
