"""Pages for people: surveys, their figures, what changed, and what a survey takes.

``table`` has an entry each, ``handlers`` finds who answers: ``entrance``, or one of a survey's
``views``, around which it puts ``controls``. What is shown is made of a histogram or a manifest by
pure functions (``shown``, ``terms``); ``rendering`` has the templates, ``sessions`` the cookie.
"""
