// One batch of predicted links under the staged type, as columns; a repeated batch finds its own links and adds none.
// A link is written if both of its nodes exist and are @same, not nodes that reuse an element id.
// Parameters: model, lock, holder, run, ids (element ids of the batch's nodes), those of @same, source and target (positions
// in ids), type, distance, rank, pattern_rank, probability and reason (null, or one per link).
@lock
UNWIND range(0, size($ids) - 1) AS i
OPTIONAL MATCH (n) WHERE elementId(n) = $ids[i] AND @same
WITH i, n ORDER BY i
WITH collect({node: n}) AS nodes
UNWIND range(0, size($source) - 1) AS i
WITH i, nodes[$source[i]].node AS a, nodes[$target[i]].node AS b
WHERE a IS NOT NULL AND b IS NOT NULL
MERGE (a)-[p:@type {run: $run, type: $type[i]}]->(b)
SET p.distance = $distance[i], p.rank = $rank[i], p.patternRank = $pattern_rank[i], p.probability = $probability[i],
    p.reason = $reason[i]
RETURN count(p) AS written
