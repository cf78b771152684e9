// The node of a version to which readers of the model shall be switched, under the next number; it goes unread until
// then. Versions to which nobody was switched go, and those before the last ones: readers who asked just before a switch
// still find what they were sent to. No row if the lease is not ours any more.
// Parameters: node (the model's), holder, token (which tells the version from others of its number), kept (how many of the
// last versions), properties.
@lease
CALL (m) {
  MATCH (old:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  WHERE old.token <> $token AND (old.number > coalesce(m.version, 0) OR old.number <= m.version - $kept)
  DELETE old
}
MERGE (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
ON CREATE SET v.number = coalesce(m.version, 0) + 1, v += $properties
RETURN v.number AS number
