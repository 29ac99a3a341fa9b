"""Life: how the processes start, serve, keep up with the clock, and stop."""
