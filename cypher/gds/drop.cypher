// Remove a projection from the memory of GDS, if it is there. Parameter: name.
CALL gds.graph.drop($name, false) YIELD graphName
RETURN graphName
