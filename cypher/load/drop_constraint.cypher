// Drop the constraint of a refused load.
//
// @constraint: name of the constraint
DROP CONSTRAINT @constraint
