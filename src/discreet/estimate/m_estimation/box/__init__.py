"""Corrections that use that the truth lies in the box.

The exact correction of a loss is unbiased for *every* x. A true record is known to lie in its box, so any function that
equals the loss there may be corrected instead: there is freedom, and it is worth a great deal.

    interval    one coordinate: the unbiased function of least variance, from a Fredholm equation
    copies      any number: reports and copies inside the box, with weights that undo the noise of any function on it
    controls    functions of the reports outside the box, whose corrections have mean zero: they take variance away
    objective   the weighted risk over copies, summed by record
    fit         losses of a linear index
    own_loss    losses that the user writes
    variance    what a mean or a smooth loss can be expected to reach, for designers
"""
