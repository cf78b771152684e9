// Remove a projection from the memory of GDS, if it exists. Parameter: name.
CALL gds.graph.drop($name, false) YIELD graphName
RETURN graphName
