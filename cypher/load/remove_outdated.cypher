// Remove the nodes that an earlier load of a family left, with their relationships.
//
// @label: label
// $family: how the `origin` of the family's nodes begins
// $origin: the one that stays
// $rows: how many at most
MATCH (n:@label)
WHERE n.origin STARTS WITH $family AND n.origin <> $origin
WITH n LIMIT $rows
DETACH DELETE n
