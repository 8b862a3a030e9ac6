"""The error for a run file or command line that cannot work."""


class ConfigError(ValueError):
    """A wrong command line or run file, a missing input, an occupied directory: exit code 2.

    The message is one line that names the value given and the value needed.
    """
