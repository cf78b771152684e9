// Remove one batch of a run's links, only those that are still that run's. Parameters: run, ids.
MATCH ()-[p:@type]->() WHERE elementId(p) IN $ids AND p.run = $run
DELETE p
RETURN count(*) AS removed
