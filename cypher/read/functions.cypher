// Those of some functions that the server has and the user may call. Parameters: names.
SHOW FUNCTIONS EXECUTABLE YIELD name WHERE name IN $names
RETURN collect(name) AS names
