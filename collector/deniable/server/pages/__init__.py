"""Pages for people: surveys, their figures, changes, and the reports that a survey needs.

``page_table`` has an entry for each page. ``handlers`` finds the answering module: ``entrance``,
``ask``, or one of a survey's ``views``, around which it puts controls. ``rendering`` has the
controls and the templates.
"""
