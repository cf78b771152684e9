// Whether a database accepts writes, and its state, on each server that has it. The name may be an alias.
// Parameters: database.
SHOW DATABASES YIELD name, aliases, access, currentStatus, statusMessage, writer
WHERE name = $database OR $database IN aliases
RETURN access, currentStatus AS status, statusMessage AS message, writer
