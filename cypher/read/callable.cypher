// Of some procedures those that the server has and the user may call. Parameters: names.
SHOW PROCEDURES EXECUTABLE YIELD name WHERE name IN $names
RETURN collect(name) AS names
