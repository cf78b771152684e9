// node2vec on a projection: one vector per node. Parameters: name, configuration (of gds.node2vec).
CALL gds.node2vec.stream($name, $configuration) YIELD nodeId, embedding
RETURN nodeId AS row, embedding
