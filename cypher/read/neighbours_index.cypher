// The nodes nearest to one node, as query/nearest.cypher finds and certifies them, with their predicted links. No rows
// if no node was found, or more than one, or it has no coordinates. Parameters: heat_model, heat_ids (the node's
// element id, or none), heat_k, heat_fetch, heat_show (property keys), and those of find_node, node_links and the
// filter.
CYPHER 5
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
  CALL (m, u) {
    UNWIND m.indexes AS index
    CALL db.index.vector.queryNodes(index, $heat_fetch, u) YIELD node AS n
    RETURN n
    UNION
    UNWIND m.core AS id
    MATCH (n) WHERE elementId(n) = id
    RETURN n
  }
  WITH m, a, u, c, n
  WHERE n <> a AND coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND (
    @node_filter
  )
  WITH m, u, c, n, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
       coalesce(n[m.stagedVector], n[m.vectorProperty]) AS v
  WITH n, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
       reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
  ORDER BY z LIMIT $heat_k
  RETURN collect(n) AS near, coalesce(max(z), 0.0) AS reach
}
WITH m, a, u, c, near, [x IN u | x * c / (c + 2.0 * reach)] AS centre,
     2.0 * sqrt(reach * (reach + 2.0)) / (c + 2.0 * reach) * 1.0001 + 2e-7 AS radius
CALL (m, near, centre, radius) {
  UNWIND m.indexes AS index
  CALL (index, centre) {
    CALL db.index.vector.queryNodes(index, 8 * $heat_fetch, centre) YIELD node, score
    RETURN collect(node) AS nodes, collect(score) AS scores, min(score) AS last
  }
  WITH near, nodes, scores, last, 1.0 / (1.0 + radius ^ 2) AS border
  RETURN collect([i IN range(0, size(nodes) - 1) WHERE size(near) < $heat_k OR scores[i] >= border | nodes[i]]) AS inside,
         all(cut IN collect(size(nodes) = 8 * $heat_fetch AND (size(near) < $heat_k OR last >= border)) WHERE NOT cut)
           AS certified
}
CALL (m, a, u, c, inside, near) {
  UNWIND inside + [near] AS nodes
  UNWIND nodes AS n
  WITH DISTINCT m, a, u, c, n
  WHERE n <> a AND coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND (
    @node_filter
  )
  WITH u, c, n, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
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
RETURN m.token AS version, elementId(a) AS id, certified, nodes
