// The element id of any node: '<kind>:<database>:<number>', of which all but the number is the same for all.
MATCH (n)
RETURN elementId(n) AS id
LIMIT 1
