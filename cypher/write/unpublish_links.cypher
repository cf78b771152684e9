// Models stop pointing to the predicted links of these runs. Parameters: runs.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
WHERE m.linkRun IN $runs
SET m.linkRun = null, m.linkType = null, m.linkRadius = null, m.linkTemperature = null
