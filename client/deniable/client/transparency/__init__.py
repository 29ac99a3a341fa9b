"""What the user can see: what may be asked, on what terms, and all that was stored and sent."""
