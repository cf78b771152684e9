// Indexes over any of some properties, or of one of some names. Parameters: properties, names.
SHOW INDEXES YIELD name, type, state, populationPercent, labelsOrTypes, properties, options, failureMessage
WHERE any(property IN properties WHERE property IN $properties) OR name IN $names
RETURN name, type, state, populationPercent AS percent, labelsOrTypes AS labels, properties, failureMessage AS failure,
  options.indexConfig AS settings
ORDER BY name
