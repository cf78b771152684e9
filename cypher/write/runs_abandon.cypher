// Runs of the model that never finished: their batches can write nothing from here on, and what they wrote is
// removed. Waits for batches that are being written, which hold their lanes. Parameters: model.
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: $model, status: 'incomplete'})
SET r.status = 'removing'
WITH r
MATCH (r)-[lane:HEAT_LANE]->(r)
DELETE lane
