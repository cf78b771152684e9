// Every model node, each locked until the end of the transaction and read after it was locked (one that was
// deleted while we waited for it has lost its name).
// All of them, so that two models cannot claim the same property names at the same time.
// A property set and removed again is how Cypher takes a lock and leaves no trace.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
WITH m ORDER BY elementId(m)
SET m.lock = true REMOVE m.lock
WITH m WHERE m.name IS NOT NULL
RETURN elementId(m) AS id, properties(m) AS model
