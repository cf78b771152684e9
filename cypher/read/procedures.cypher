// Those of some procedures that the server has and the user may call, in Cypher 5, as the statements call them; newer
// Cypher may lack them. Parameters: names.
CYPHER 5
SHOW PROCEDURES EXECUTABLE YIELD name WHERE name IN $names
RETURN collect(name) AS names
