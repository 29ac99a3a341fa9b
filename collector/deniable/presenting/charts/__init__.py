"""Charts of estimates, as SVG without inline styles, so that a strict page may contain them.

All functions are pure, and the same arguments give the same bytes. Every text may be untrusted: it
never becomes markup. ``charts.css`` defines the appearance; ``standalone`` puts it into the image.
"""

from deniable.presenting.charts.dots import dots_chart as dots_chart
from deniable.presenting.charts.series import Line as Line
from deniable.presenting.charts.series import Panel as Panel
from deniable.presenting.charts.series import series_chart as series_chart
from deniable.presenting.charts.svg import POINTS as POINTS
from deniable.presenting.charts.svg import SHARES as SHARES
from deniable.presenting.charts.svg import Band as Band
from deniable.presenting.charts.svg import Dot as Dot
from deniable.presenting.charts.svg import Markup as Markup
from deniable.presenting.charts.svg import Picture as Picture
from deniable.presenting.charts.svg import Scale as Scale
from deniable.presenting.charts.svg import notice as notice
from deniable.presenting.charts.svg import standalone as standalone
from deniable.presenting.charts.svg import stylesheet as stylesheet
