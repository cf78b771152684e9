// Part of hits: by words. Parameters: heat_index (its name), heat_question (a query of Lucene), heat_fetch.
CALL db.index.fulltext.queryNodes($heat_index, $heat_question, {limit: $heat_fetch}) YIELD node AS n, score
