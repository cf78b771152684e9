// The node properties that a constraint makes unique, alone.
SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties
WHERE entityType = 'NODE' AND size(properties) = 1 AND (type ENDS WITH 'UNIQUENESS' OR type = 'NODE_KEY')
RETURN labelsOrTypes[0] AS label, properties[0] AS property
ORDER BY label, property
