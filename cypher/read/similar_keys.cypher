// Keys that may be meant by a text that is no node's key: of nodes with the text in any case in another property, with that
// property; and keys of about its length that begin like it. Of the first 100,000 nodes. Parameters: heat_text.
MATCH (n:@labels)
WITH n LIMIT 100000
WITH toStringOrNull(n.@property) AS key, head([name IN keys(n)
  WHERE n[name] IS :: STRING NOT NULL AND toLower(toStringOrNull(n[name])) = toLower($heat_text)]) AS property
WHERE key IS NOT NULL AND (property IS NOT NULL
  OR left(toLower(key), 1) = left(toLower($heat_text), 1) AND abs(size(key) - size($heat_text)) <= 3)
RETURN DISTINCT key, property
ORDER BY property IS NULL, key
LIMIT 1000
