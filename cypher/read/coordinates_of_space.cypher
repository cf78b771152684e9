// Element ids of the nodes with coordinates of a space. Parameters: space.
MATCH (n) WHERE n.@run = $space
RETURN elementId(n) AS id
