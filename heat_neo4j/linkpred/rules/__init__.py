"""Schema rules: constraints on links that are learned from a graph's relationships and stated in words.

A rule is learned if exceptions are rare, and far rarer than by chance. Chance means a graph with the same
degrees (cardinality, cycles, chains) or pairs near a relationship of the type (exclusion). The rules
correspond to cardinality, irreflexivity, asymmetry and disjointness in ontologies; see E. Munoz, P. Minervini
and M. Nickles, "Embedding cardinality constraints in neural link predictors", SAC (2019).
"""
