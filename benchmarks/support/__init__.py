"""What the benchmarks share: fitted models on the paper's data, the people they refuse, checks."""
