// One batch of vectors from the coordinates that are there: points of the Poincare ball times a scale.
// Parameters: run, ids, kind (of the coordinates), scale.
MATCH (n) WHERE elementId(n) IN $ids AND n.@run = $run
WITH n, n.@embedding AS x
WITH n, CASE $kind WHEN 'hyperboloid' THEN x[..-1] ELSE x END AS space, CASE $kind
  WHEN 'hyperboloid' THEN $scale / (1.0 + x[-1])
  WHEN 'klein' THEN $scale / (1.0 + sqrt(1.0 - reduce(sum = 0.0, y IN x | sum + y * y)))
  ELSE $scale
END AS scale
SET n.@vector = [y IN space | y * scale]
RETURN count(n.@vector) AS written
