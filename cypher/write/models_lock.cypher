// Every model node, locked until the end of the transaction and read under the lock (one that was deleted while we waited
// has lost its name). All are locked, so that two models cannot claim the same property names concurrently.
// Setting and removing a property takes a lock without a trace.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
WITH m ORDER BY elementId(m)
SET m.lock = true REMOVE m.lock
WITH m WHERE m.name IS NOT NULL
RETURN elementId(m) AS id, properties(m) AS model
