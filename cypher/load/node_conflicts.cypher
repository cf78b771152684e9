// A node that holds another value than the one to be loaded, if there is one.
//
// @label, @key: label and property that name a node
// $rows: one map for each node: `key`, and `properties` as in load/nodes
UNWIND $rows AS row
MATCH (n:@label {@key: row.key})
UNWIND keys(row.properties) AS property
WITH row, n, property
WHERE n[property] <> row.properties[property]
RETURN row.key AS key, property
LIMIT 1
