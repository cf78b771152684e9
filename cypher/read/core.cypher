// Element ids of the nodes of a space that are nearest to the origin. Parameters: space, limit; staged_run and
// staged_radius (the properties while a version is being published, else null).
MATCH (n:@labels) WHERE coalesce(n[$staged_run], n.@run) = $space
WITH elementId(n) AS id, coalesce(n[$staged_radius], n.@radius) AS radius ORDER BY radius, id LIMIT $limit
RETURN collect(id) AS ids
