// Version of GDS, if it is installed.
RETURN gds.version() AS version
