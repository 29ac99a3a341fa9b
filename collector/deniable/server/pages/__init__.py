"""Pages for people: surveys, their figures, what changed, and what a survey takes.

``table`` has an entry each, ``handlers`` finds who answers: ``entrance``, or one of a survey's
``views``, in the frame that ``survey`` puts around them, with ``controls``. What is shown is made
of a histogram or a manifest by pure functions (``shown``, ``terms``), within ``limits``;
``rendering`` has the templates, ``sessions`` the cookie.
"""
