"""The command line: arguments, what is done in a pause, exit codes. No numerics."""
