"""Answers for language models: retrievers of neo4j-graphrag and LangChain, and an MCP server.

They may import: `pipeline` and what that may import.
"""
