// Element ids of the nodes with coordinates of a space. Parameters: space.
MATCH (n:@labels) WHERE n.@run = $space
RETURN elementId(n) AS id
