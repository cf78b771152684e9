// Element ids of nodes by label and property, at most two: enough to see whether there is exactly one. Also part of other
// statements.
// Parameters: heat_values.
MATCH (n:@labels) WHERE n.@property IN $heat_values
RETURN elementId(n) AS id
LIMIT 2
