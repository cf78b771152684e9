// The node of a version to which readers of the model shall be switched, under the next number; it goes unread until
// then. Versions to which nobody was switched go, and those before the last ones: readers who asked just before a switch
// still find what they were sent to. No row if the lease is not ours any more.
// Parameters: node (the model's), holder, token (which tells the version from others of its number), kept (how many of the
// last versions), properties, most_versions (a larger number is not one of ours).
@lease
// Somebody else may have set the number to something that no version has.
WITH m, CASE WHEN m.version IS :: INTEGER NOT NULL AND 0 <= m.version <= $most_versions
             THEN m.version ELSE 0 END AS version
CALL (m, version) {
  MATCH (old:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  WHERE size(labels(old)) = 1 AND coalesce(old.token <> $token, true) AND NOT coalesce(version - $kept < old.number <= version, false)
  DELETE old
}
MERGE (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
ON CREATE SET v.number = version + 1, v += $properties
RETURN v.number AS number
