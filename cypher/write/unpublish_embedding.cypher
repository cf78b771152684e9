// Models stop pointing to the coordinates of these runs. Parameters: runs.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
WHERE m.run IN $runs
SET m.run = null, m.slot = null, m.embeddingProperty = null, m.radiusProperty = null, m.runProperty = null,
    m.vectorProperty = null, m.vectorScale = null, m.indexes = null, m.core = null, m.coordinates = null, m.dimension = null
