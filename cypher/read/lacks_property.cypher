// Whether any of some nodes lacks a property. Parameters: limit.
MATCH (n:@label)
WITH n LIMIT $limit
RETURN count(n.@property) < count(n) AS lacks
