"""Pages for people: surveys, their figures, what changed, and what a survey takes.

``page_table`` has an entry each, ``handlers`` finds who answers: ``entrance``, ``ask``, or one of a
survey's ``views``, around which it puts controls; ``rendering`` has these and the templates.
"""
