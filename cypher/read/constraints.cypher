// Constraints on some labels, on some relationship types, or on some node properties. Parameters: labels, types, properties.
SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties
WHERE CASE entityType
  WHEN 'NODE' THEN any(label IN labelsOrTypes WHERE label IN $labels) OR any(property IN properties WHERE property IN $properties)
  ELSE any(type IN labelsOrTypes WHERE type IN $types)
END
RETURN name, type, entityType AS entity, labelsOrTypes AS labels, properties
ORDER BY name
