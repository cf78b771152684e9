// Drop one index.
DROP INDEX @index IF EXISTS
