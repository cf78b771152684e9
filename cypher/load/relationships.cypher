// Create relationships, or find them by their two ends, and set their properties.
//
// @label, @target, @key: labels of the two ends, and the property that names a node
// @type: relationship type
// $rows: lists of source key, target key, map of properties
UNWIND $rows AS row
MATCH (a:@label {@key: row[0]})
MATCH (b:@target {@key: row[1]})
MERGE (a)-[r:@type]->(b)
SET r += row[2]
