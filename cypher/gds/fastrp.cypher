// FastRP on a projection: one vector per node. Parameters: name, configuration (of gds.fastRP).
CALL gds.fastRP.stream($name, $configuration) YIELD nodeId, embedding
RETURN nodeId AS row, embedding
