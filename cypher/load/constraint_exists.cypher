// Whether a constraint already forbids two nodes of a label with the same value of a property.
//
// $label, $key: label and property
SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties
WHERE entityType = 'NODE' AND labelsOrTypes = [$label] AND properties = [$key]
  AND (type ENDS WITH 'UNIQUENESS' OR type ENDS WITH 'NODE_KEY')
RETURN count(*) > 0 AS exists
