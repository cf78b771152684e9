"""The tables of RESULTS.md: measured job by job, kept in a file, and written as one document."""
