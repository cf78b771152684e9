// What answers show of some nodes, with their predicted links. Parameters: heat_model, heat_ids (element ids), heat_show
// (property keys), and those of node_links.
CYPHER 5
MATCH (model:HeatModel {name: $heat_model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
UNWIND $heat_ids AS id
MATCH (n) WHERE elementId(n) = id AND coalesce(n[m.stagedRun], n[m.runProperty]) = m.space
CALL (n) {
  @links
}
RETURN m.token AS version, id, labels(n) AS labels, [key IN $heat_show | n[key]] AS shown,
       coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS radius, links
