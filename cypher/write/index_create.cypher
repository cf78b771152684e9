// A vector index over the vectors of one slot. They are not quantized: that would lose what tells neighbours apart.
// Parameters: dimension.
CREATE VECTOR INDEX @index FOR (n:@label) ON (n.@vector)
OPTIONS {indexConfig: {`vector.dimensions`: $dimension, `vector.similarity_function`: 'euclidean', `vector.quantization.enabled`: false}}
