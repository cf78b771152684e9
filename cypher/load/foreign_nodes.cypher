// How many nodes of a label do not belong to a family of loads.
//
// @label: label
// $family: how the `origin` of the family's nodes begins
MATCH (n:@label)
WHERE NOT coalesce(n.origin STARTS WITH $family, false)
RETURN count(n) AS nodes
