// Lock a run node, then see that a part of its data is ours to remove: one row if so, none if that part is
// published, kept for a rollback, still being written, or already gone, or if another has the lease by now. First
// statement of every batch of a removal. Parameters: run, part ('embedding' or 'links'), holder (of the lease).
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.lock = true REMOVE r.lock
WITH r
WHERE r.status <> 'incomplete' AND $part IN r.stored
  AND EXISTS { MATCH (:HeatModel {name: r.model, createdBy: 'heat_neo4j', leaseHolder: $holder}) }
  AND NOT EXISTS {
    MATCH (m:HeatModel {name: r.model, createdBy: 'heat_neo4j'})
    WITH r, m.version AS number
    MATCH (v:HeatVersion {model: r.model, createdBy: 'heat_neo4j', number: number})
    WHERE ($part = 'embedding' AND r.runId IN [v.run, v.previousRun])
       OR ($part = 'links' AND r.runId IN [v.linkRun, v.previousLinkRun])
  }
RETURN r.runId AS run
