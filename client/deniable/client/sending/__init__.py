"""The way of a decided report to the collector."""
