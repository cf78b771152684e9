// How many nodes of the projection carry each label.
MATCH (n:@labels)
UNWIND labels(n) AS label
RETURN label, count(*) AS nodes
