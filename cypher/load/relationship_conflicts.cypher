// A relationship that holds another weight than the one to be loaded, if there is one.
//
// @label, @key: label and property that name a node
// @type, @weight: relationship type and its weight property
// $rows: lists of source key, target key, weight
UNWIND $rows AS row
MATCH (a:@label {@key: row[0]})
MATCH (b:@label {@key: row[1]})
MATCH (a)-[r:@type]->(b)
WHERE r.@weight <> row[2]
RETURN row[0] AS source, row[1] AS target
LIMIT 1
