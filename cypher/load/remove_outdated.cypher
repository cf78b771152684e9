// Remove the nodes that an earlier load of a family left, with their relationships.
//
// @label: label
// $family: how the `origin` of the family's nodes begins
// $origin: the one that stays
MATCH (n:@label)
WHERE n.origin STARTS WITH $family AND n.origin <> $origin
DETACH DELETE n
