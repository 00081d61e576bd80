"""Messages, shared memory and child processes: how the processes of the service work together."""
