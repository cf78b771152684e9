// Property keys of some relationships whose values are dates or datetimes. Parameters: limit.
MATCH ()-[r:@types]->()
WITH r LIMIT $limit
UNWIND keys(r) AS key
WITH key, r[key] AS value
WHERE value IS :: DATE OR value IS :: ZONED DATETIME OR value IS :: LOCAL DATETIME
RETURN collect(DISTINCT key) AS keys
