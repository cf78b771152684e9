// Part of around: every node, for a model without an index.
MATCH (n:@labels)
RETURN n
