"""Sample size, margin of error, power, and detection of cheating."""
