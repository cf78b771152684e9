// A vector index over one copy of the coordinates, as points of the Poincare ball. They are not quantized, which
// would blur near neighbours.
// Twice the default connections (16, chosen from 100 candidates), so that the index overlooks fewer nodes.
// Parameters: dimension.
CREATE VECTOR INDEX @index IF NOT EXISTS FOR (n:@label) ON (n.@vector)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'euclidean',
  `vector.quantization.enabled`: false, `vector.hnsw.m`: 32, `vector.hnsw.ef_construction`: 200}}
