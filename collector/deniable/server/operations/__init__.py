"""Operations: what an operator sees: logs and metrics."""
