// A relationship that holds another value than the one to be loaded, if there is one.
//
// @label, @target, @key: labels of the two ends, and the property that names a node
// @type: relationship type
// $rows: lists of source key, target key, map of properties
UNWIND $rows AS row
MATCH (a:@label {@key: row[0]})
MATCH (b:@target {@key: row[1]})
MATCH (a)-[r:@type]->(b)
UNWIND keys(row[2]) AS property
WITH row, r, property
WHERE r[property] <> row[2][property]
RETURN row[0] AS source, row[1] AS target, property
LIMIT 1
