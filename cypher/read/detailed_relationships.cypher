// Like weighted_relationships.cypher, with the time of each relationship in one of two more lists, null in the other:
// seconds since 1970 UTC of a date or datetime (one without a zone is taken as UTC), else the value as it is. The server
// converts them, because the driver needs seconds for 10^5 temporal values.
// Parameters: heat_ids, heat_prefix, heat_weight and heat_time (property keys, or null: none).
UNWIND range(0, size($heat_ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $heat_ids[i]
MATCH (n)-[r@types]->(m)
WHERE (
  @relationship_filter
)
// collect() drops nulls, a list comprehension over collected relationships keeps them.
WITH type(r) AS type, collect(i) AS sources,
  collect(toInteger(substring(elementId(m), $heat_prefix))) AS targets, collect(r) AS relationships
WITH type, sources, targets, relationships, [r IN relationships | r[$heat_time]] AS times
RETURN type, sources, targets, [r IN relationships | r[$heat_weight]] AS weights,
  // Not epochMillis, which overflows in the year 292,278,995. Microseconds are whole, so that only the last division rounds.
  [t IN times | CASE
    WHEN t IS :: DATE NOT NULL | ZONED DATETIME NOT NULL | LOCAL DATETIME NOT NULL
      THEN (duration.inSeconds(datetime('1970-01-01T00:00Z'), t).seconds * 1000000.0 +
            duration.inSeconds(datetime('1970-01-01T00:00Z'), t).nanosecondsOfSecond / 1000.0) / 1000000
  END] AS seconds,
  [t IN times | CASE
    WHEN t IS :: DATE NOT NULL | ZONED DATETIME NOT NULL | LOCAL DATETIME NOT NULL THEN null
    ELSE t
  END] AS others
