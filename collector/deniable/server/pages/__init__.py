"""Pages for people: surveys, their figures, what changed, and what a survey takes.

What a page shows is made of a histogram or a manifest by pure functions (``shown``, ``terms``),
within ``limits``; ``handlers`` has the requests, ``controls`` what is chosen, ``rendering`` the
templates, ``sessions`` the cookie.
"""
