// Take the lease of the (locked) model, if nobody holds it, its time is over, its holder is dead, or it is ours: one row,
// which says who holds it now, and until when. Parameters: node (the model's), holder, dead (a holder, or null), seconds.
MATCH (m:HeatModel) WHERE elementId(m) = $node
WITH m, coalesce(m.leaseHolder IN [$holder, coalesce($dead, $holder)] OR m.leaseUntil < datetime(), true) AS free
FOREACH (_ IN CASE WHEN free THEN [1] ELSE [] END |
  SET m.leaseHolder = $holder, m.leaseUntil = datetime() + duration({seconds: $seconds}))
RETURN free, m.leaseHolder AS holder, m.leaseUntil AS until
