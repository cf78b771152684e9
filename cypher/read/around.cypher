// The nodes near each of some nodes, the nearest first, as the index or a scan finds them, and those that predicted links
// join to it. @candidates is around_index or around_scan, @linked is around_links. Parameters: heat_model, heat_ids
// (element ids), heat_k, and those of the parts and of the filter.
CYPHER 5
MATCH (model:HeatModel {name: $heat_model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
UNWIND $heat_ids AS id
MATCH (a) WHERE elementId(a) = id AND coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
WITH m, a, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r
WITH m, a, u, 2.0 + exp(r) + exp(-r) AS c
CALL (m, a, u, c) {
  CALL (m, u) {
    @candidates
  }
  WITH m, a, u, c, n
  WHERE n <> a AND coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND (
    @node_filter
  ) AND @answers
  WITH u, c, n, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
       coalesce(n[m.stagedVector], n[m.vectorProperty]) AS v
  WITH n, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
       reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
  WITH n, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
  ORDER BY distance, elementId(n) LIMIT $heat_k
  RETURN collect({id: elementId(n), degree: COUNT { (n)--() }, distance: distance}) AS near
}
CALL (m, a) {
  @linked
}
RETURN m.token AS version, elementId(a) AS id, near, linked
