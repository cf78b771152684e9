// How many nodes carry a label.
MATCH (n:@label)
RETURN count(n) AS nodes
