// Whether a database takes writes, and its state, on each server that has it. An alias is another name of it.
// Parameters: database.
SHOW DATABASES YIELD name, aliases, access, currentStatus, statusMessage, writer
WHERE name = $database OR $database IN aliases
RETURN access, currentStatus AS status, statusMessage AS message, writer
