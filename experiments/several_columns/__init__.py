"""Coverage and error of regressions on several randomised columns."""
