"""Routes: the table of what can be asked over HTTP, and who answers it."""
