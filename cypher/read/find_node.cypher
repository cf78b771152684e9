// Element ids of nodes by label and property, two at most: enough to see that there is one. Parameters: values.
MATCH (n:@labels) WHERE n.@property IN $values
RETURN elementId(n) AS id
LIMIT 2
