// A key that is a text, if there is one. The comparison lets an index find it.
//
// @label, @key: label and property
MATCH (n:@label)
WHERE n.@key >= ''
RETURN n.@key AS key
LIMIT 1
