// Part of other statements: whether a node n, at position i of the ids, is the node that was read. Neo4j gives the element
// ids of deleted nodes to new ones. The same node has a label of the projection and the key; without a key, a
// relationship to one of its first neighbours, if it had any.
// Parameters: ids, keys (values, null for none), key_of (position of the property in key_names), key_names, beside
// (element ids; null where there is a key).
n:@projected AND (
  n[$key_names[$key_of[i]]] = $keys[i] OR size($beside[i]) = 0
  OR EXISTS { (n)--(other) WHERE elementId(other) IN $beside[i] }
)
