// One node for each key, and an index to find it by.
//
// @constraint: name of the constraint
// @label, @key: label and property
CREATE CONSTRAINT @constraint FOR (n:@label) REQUIRE n.@key IS UNIQUE
