// Create the node of the next version, which is unread until the switch. Delete versions that were never switched to, and
// old ones; the last two stay for readers who asked just before a switch. No row if we have lost the lease.
// Parameters: node (the model's), holder, token (which tells the version from others of its number), properties,
// most_versions (a larger number is not one of ours).
@lease
// The number may have been changed to one that no version has.
WITH m, CASE WHEN m.version IS :: INTEGER NOT NULL AND 0 <= m.version <= $most_versions
             THEN m.version ELSE 0 END AS version
CALL (m, version) {
  MATCH (old:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
  WHERE size(labels(old)) = 1 AND coalesce(old.token <> $token, true) AND NOT coalesce(version - 2 < old.number <= version, false)
  DELETE old
}
MERGE (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
ON CREATE SET v.number = version + 1, v += $properties
RETURN v.number AS number
