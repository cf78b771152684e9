// Of some procedures those that the server has and the user may call. Asked in Cypher 5, in which the statements call them:
// newer Cypher may no longer have them. Parameters: names.
CYPHER 5
SHOW PROCEDURES EXECUTABLE YIELD name WHERE name IN $names
RETURN collect(name) AS names
