// Models that would be rolled back to one of these runs have nothing to be rolled back to any more. Parameters: runs.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
WHERE m.previousRun IN $runs OR m.previousLinkRun IN $runs
SET m.previous = null, m.previousRun = null, m.previousLinkRun = null
