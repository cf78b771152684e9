// Models that would be rolled back to one of these runs, or to what they point to anyway, have nothing to be rolled back
// to any more. Parameters: runs.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
WHERE m.previousRun IN $runs OR m.previousLinkRun IN $runs
   OR coalesce(m.previousRun, '') = coalesce(m.run, '') AND coalesce(m.previousLinkRun, '') = coalesce(m.linkRun, '')
SET m.previous = null, m.previousRun = null, m.previousLinkRun = null
