"""Routes: the table of HTTP requests, and their handlers."""
