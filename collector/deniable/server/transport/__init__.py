"""Transport: sockets, and connections that are each bounded in time and memory."""
