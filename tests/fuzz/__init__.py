"""A machine that invents run files and asks of each what must hold: `make fuzz SECONDS=600 SEED=1`."""
