// Part of neighbours_line: every node.
MATCH (n:@labels)
RETURN n, null AS steps
