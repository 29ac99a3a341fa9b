"""Sending: the path of a decided report to the collector."""
