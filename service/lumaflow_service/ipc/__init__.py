"""Inter-process communication: messages over sockets, frames in shared memory, child processes."""
