// The full-text indexes over nodes.
SHOW FULLTEXT INDEXES YIELD name, entityType, labelsOrTypes, state
WHERE entityType = 'NODE' AND state = 'ONLINE'
RETURN name, labelsOrTypes AS labels
ORDER BY name
