// Create nodes, or find them by their key, and set their properties.
//
// @label, @key: label and property that name a node
// $rows: one map for each node: `key`, and `properties`
UNWIND $rows AS row
MERGE (n:@label {@key: row.key})
SET n += row.properties
