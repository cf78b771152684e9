// Part of hits: by a vector. Parameters: heat_index (its name), heat_question (numbers), heat_fetch.
CALL db.index.vector.queryNodes($heat_index, $heat_fetch, $heat_question) YIELD node AS n, score
