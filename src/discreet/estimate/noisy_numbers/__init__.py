"""Numbers that were published with zero-inflated Laplace noise, and what corrects a function of them.

inside           what counts as inside the box
copies           reports and copies inside the box, with weights that undo the noise of any function on it
controls         functions of the reports outside the box, whose corrections have mean zero
interval         one number: the unbiased function of least variance, from a Fredholm equation
corrected_means  means of functions of records
variance         what a mean can be expected to reach, for designers
"""
