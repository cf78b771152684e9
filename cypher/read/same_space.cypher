// Part of other statements: whether a node n has coordinates of a space, staged or published. Parameters: space.
coalesce(n.@staged_run, n.@run) = $space
