// The run's node, made before the first value of the run is written, so that a run that died can be found
// and removed. Its lanes are relationships to itself: a batch locks one, so that as many go on at once; whoever
// takes the run's right to write away deletes all, which waits for batches under way and stops those to come.
// A repetition of the transaction makes nothing twice. Parameters: run, properties, lanes (how many).
MERGE (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
ON CREATE SET r += $properties, r.status = 'incomplete', r.startedAt = datetime(), r.heartbeat = datetime()
WITH r
UNWIND range(0, $lanes - 1) AS lane
MERGE (r)-[:HEAT_LANE {lane: lane}]->(r)
