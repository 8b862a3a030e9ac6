"""The command line: arguments, work in a pause, exit codes. No numerics."""
