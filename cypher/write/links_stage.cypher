// One batch of predicted links under the staged type, as columns; a repeated batch finds its own links and adds none.
// Parameters: model, lock, holder, run, ids (element ids of the batch's nodes), source and target (positions in ids),
// type, distance, rank, pattern_rank, probability (null, or one per link).
@lock
UNWIND range(0, size($source) - 1) AS i
MATCH (a) WHERE elementId(a) = $ids[$source[i]] AND a:@projected
MATCH (b) WHERE elementId(b) = $ids[$target[i]] AND b:@projected
MERGE (a)-[p:@type {run: $run, type: $type[i]}]->(b)
SET p.distance = $distance[i], p.rank = $rank[i], p.patternRank = $pattern_rank[i], p.probability = $probability[i]
RETURN count(p) AS written
