// Create relationships, or find them by their two ends, and set their weight.
//
// @label, @key: label and property that name a node
// @type, @weight: relationship type and its weight property
// $rows: lists of source key, target key, weight
UNWIND $rows AS row
MATCH (a:@label {@key: row[0]})
MATCH (b:@label {@key: row[1]})
MERGE (a)-[r:@type]->(b)
SET r.@weight = row[2]
