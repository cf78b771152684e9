// Nodes of the projection in a range of numbers in their element ids, found among all nodes of its labels: one record
// for each set of labels and block of numbers, of the numbers, and how many relationships leave each node (an upper
// bound where a filter or a label decides). Parameters: heat_first, heat_last (of the numbers), heat_prefix (length of
// the element id before its number), heat_block (numbers per block).
MATCH (n:@labels)
WHERE (
  @node_filter
)
WITH n, toInteger(substring(elementId(n), $heat_prefix)) AS number
WHERE $heat_first <= number <= $heat_last
RETURN labels(n) AS labels, number / $heat_block AS block,
  collect(number) AS numbers, collect(COUNT { (n)-[@bound]->() }) AS degrees
