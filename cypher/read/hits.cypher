// The nodes that an index finds for a question, the best first, of those that have coordinates, and which of them may be
// answers. @search is text_hits or vector_hits. Parameters: heat_model, heat_k, and those of the part and of the filter.
CYPHER 5
MATCH (model:HeatModel {name: $heat_model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
@search
WITH m, n, score
WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND (
  @node_filter
)
RETURN m.token AS version, elementId(n) AS id, @answers AS answers
ORDER BY score DESC, id
LIMIT $heat_k
