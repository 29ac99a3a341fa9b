"""What may be asked of this device, what it has decided, and what it may still spend."""
