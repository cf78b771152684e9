// One row if a node exists. Parameters: node (element id).
MATCH (n) WHERE elementId(n) = $node
RETURN elementId(n) AS id
