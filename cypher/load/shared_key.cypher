// A key that two nodes of a label share, if there is one.
//
// @label, @key: label and property
MATCH (n:@label)
WHERE n.@key IS NOT NULL
WITH n.@key AS key, count(*) AS nodes
WHERE nodes > 1
RETURN key
LIMIT 1
