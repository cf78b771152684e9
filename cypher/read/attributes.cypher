// Properties of the given nodes, as one record of lists: positions in heat_ids of the nodes that still exist and have a
// label of the projection, and for each key the values of these nodes, null where there is none. A date, datetime or
// localdatetime (taken as UTC) comes as [null, seconds since 1970 UTC, nanoseconds more], which no property can
// hold by itself: the driver needs six seconds to decode 10^5 datetimes with zones, and a tenth of a second this way.
// Parameters: heat_ids, heat_keys.
UNWIND range(0, size($heat_ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $heat_ids[i] AND n:@labels
// collect() drops nulls, a list comprehension over collected nodes keeps them.
WITH collect(i) AS positions, collect(n) AS nodes
RETURN positions, [key IN $heat_keys | [value IN [n IN nodes | n[key]] | CASE
    // Not epochMillis, which overflows in the year 292,278,995: some use the last date of all for "never".
    WHEN value IS :: DATE NOT NULL | ZONED DATETIME NOT NULL | LOCAL DATETIME NOT NULL
      THEN [null, duration.inSeconds(datetime('1970-01-01T00:00Z'), value).seconds,
            duration.inSeconds(datetime('1970-01-01T00:00Z'), value).nanosecondsOfSecond]
    ELSE value
  END]] AS columns
