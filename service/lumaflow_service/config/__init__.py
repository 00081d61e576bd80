"""What an operator or a client can set, read and validated."""
