"""As much of the library `wcmatch` as the suites of scripts/fidelity need."""
