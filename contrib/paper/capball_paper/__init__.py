"""The paper, repeated: every figure and table of the source made again, on real engines, with what holds and what does not.

An experiment is a file of its own, named after the figure or table it repeats. It says which steps it has (pure functions of
a data set and some settings, cached by content) and makes a section of the report from what they gave.
"""
