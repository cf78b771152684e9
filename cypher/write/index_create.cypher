// A vector index over the vectors of one slot. They are not quantized: that would lose what tells neighbours apart.
// Twice as many connections as by default (16, of 100 candidates), so that the index overlooks less.
// Parameters: dimension.
CREATE VECTOR INDEX @index FOR (n:@label) ON (n.@vector)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'euclidean',
  `vector.quantization.enabled`: false, `vector.hnsw.m`: 32, `vector.hnsw.ef_construction`: 200}}
