"""Charts of estimates, as SVG: no styles of their own, so that a strict page may hold them.

All functions are pure, and the same arguments give the same bytes. Every text may be a stranger's:
it never becomes markup. ``charts.css`` has the looks; ``standalone`` puts it into the image.
"""

from deniable.presenting.charts.dots import difference_chart, dots_chart
from deniable.presenting.charts.series import Line, Panel, series_chart, sparkline
from deniable.presenting.charts.svg import (
    POINTS,
    SHARES,
    Band,
    Dot,
    Markup,
    Picture,
    Scale,
    notice,
    standalone,
    stylesheet,
)

__all__ = [
    "POINTS",
    "SHARES",
    "Band",
    "Dot",
    "Line",
    "Markup",
    "Panel",
    "Picture",
    "Scale",
    "difference_chart",
    "dots_chart",
    "notice",
    "series_chart",
    "sparkline",
    "standalone",
    "stylesheet",
]
