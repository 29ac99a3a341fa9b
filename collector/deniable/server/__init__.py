"""The collector's HTTP server: uploads in, debiased histograms out."""
