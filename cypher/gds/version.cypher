// Version of GDS, where it is installed.
RETURN gds.version() AS version
