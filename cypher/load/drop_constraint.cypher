// Take back the constraint of a load that was refused.
//
// @constraint: name of the constraint
DROP CONSTRAINT @constraint
