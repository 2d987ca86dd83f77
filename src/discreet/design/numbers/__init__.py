"""Numbers: unbiased reports of least variance, and Laplace noise."""
