// The likeliest predicted links of some nodes. Parameters: heat_ids (element ids), and those of node_links.
UNWIND $heat_ids AS id
MATCH (n) WHERE elementId(n) = id
CALL (n) {
  @links
}
RETURN id, links
