// How many nodes of a label there are (answered from the count store).
//
// @label: label
MATCH (n:@label) RETURN count(n) AS nodes
