"""What a channel does to frequencies and numbers, and what undoes it: corrections, scores, likelihoods."""
