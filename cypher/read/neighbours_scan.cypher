// The nodes nearest to one node, from a scan of all nodes, with their predicted links. No rows if no node was found, or
// more than one, or it has no coordinates. Parameters: heat_model, heat_ids (the node's element id, or none), heat_k,
// heat_show (property keys), and those of find_node, node_links and the filter.
MATCH (model:HeatModel {name: $heat_model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
CALL () {
  UNWIND $heat_ids AS id
  RETURN id
  @or_by_key
}
WITH m, collect(id) AS ids WHERE size(ids) = 1
MATCH (a) WHERE elementId(a) = ids[0] AND coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
WITH m, a, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r
WITH m, a, u, 2.0 + exp(r) + exp(-r) AS c
CALL (m, a, u, c) {
  MATCH (n:@labels)
  WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n <> a AND (
    @node_filter
  )
  WITH n, c, u, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
       coalesce(n[m.stagedVector], n[m.vectorProperty]) AS v
  WITH n, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
       reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
  WITH n, r, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
  ORDER BY distance, elementId(n) LIMIT $heat_k
  CALL (n) {
    @links
  }
  WITH n, r, distance, links ORDER BY distance, elementId(n)
  RETURN collect({id: elementId(n), labels: labels(n), shown: [key IN $heat_show | n[key]], distance: distance, radius: r,
                  links: links}) AS nodes
}
RETURN m.token AS version, elementId(a) AS id, true AS certified, nodes
