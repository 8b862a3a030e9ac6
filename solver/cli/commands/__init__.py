"""The commands, one file each: its name is the command, its first line what it does."""
