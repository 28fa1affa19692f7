"""Does memory bring back the evidence? `python -m diffmem.evals FILE` remembers, asks, and prints the recall.

dataset      the file: users with sessions and questions, one JSON object a line
product      what is measured: a memory of its own in a temporary directory, through the product's own path
measuring    every session remembered, every question asked, at every budget
scores       means with confidence intervals, and what differs between two runs
report       the tables
"""
