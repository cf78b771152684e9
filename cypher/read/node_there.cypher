// A row if a node is there. Parameters: node (element id).
MATCH (n) WHERE elementId(n) = $node
RETURN elementId(n) AS id
