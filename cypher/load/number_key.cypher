// A key that is a number, if there is one. The comparisons let an index find it.
//
// @label, @key: label and property
MATCH (n:@label)
WHERE n.@key >= 0 OR n.@key < 0
RETURN n.@key AS key
LIMIT 1
