"""The questionnaire that ``discreet survey new`` writes: it works as it is, and says what can be changed."""

TEMPLATE = """\
format = 1
title = "Exam honesty survey"

# Who may answer, and in which languages (ar, de, en, es, fr). Every text below is then a table:
#   text = { en = "…", de = "…" }
[collect]
access = "open"                 # whoever has the address: the promise is about a report, not about a person.
                                # "invitation": one-time codes (discreet survey invite), each used once
languages = ["en"]
# opens = 2030-01-01            # first and last day (UTC); both may change while the survey runs
# closes = 2030-01-31
smallest_cell = 5               # fewer people with the same public answers are not shown, nor released unasked
margin = 0.05                   # the error that is aimed at; the dashboard says how many reports are still needed
contact = "research@example.org"
consent = "We want to know how common cheating in exams is, and how it goes with preparation. It takes two minutes."

# Sent as they are answered. Few and coarse: together they can point at a person.
[[public]]
columns = ["year"]

# Randomised on the respondent's device before anything is sent.
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.0                   # at 1.0, 73 of 100 people send their true answer

[[private]]
columns = ["hours"]
domain = { grid = { low = 0, high = 20, points = 5 } }
mechanism = "randomized-response"
epsilon = 1.5

# The questions, in the order in which they are asked; one for every column above.
[[question]]
column = "year"
text = "In which year of your studies are you?"
choices = ["first", "second", "third or later"]

[[question]]
column = "cheated"
text = "Did you cheat in an exam during the last twelve months?"
help = "Notes, a phone, copying, help from others: anything that was not allowed."
choices = [{ value = "no", en = "No" }, { value = "yes", en = "Yes" }]

[[question]]
column = "hours"
text = "How many hours did you prepare for your last exam?"
help = "Your number is rounded to 0, 5, 10, 15 or 20."
"""
