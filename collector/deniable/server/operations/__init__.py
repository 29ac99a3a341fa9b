"""Operations: what an operator sets and sees: settings, logs and metrics."""
