"""The one figure of a survey where there is room for a line: in lists, on cards."""

from deniable.documents import Document, Fact
from deniable.estimates.charts import sparkline
from deniable.estimates.pictures import series_panels, series_scale
from deniable.estimates.rows import largest_shares
from deniable.estimates.series import Series
from deniable.reading.epochs import epochs_text


def headline(series: Series) -> Document:
    """Return the newest mean, or largest share, in a sentence; its chart is small, of all epochs.

    The largest share is that of all epochs together, with intervals that hold for all answers at
    once: chance made it neither so large nor so large just now (:mod:`deniable.estimates.rows`).
    """
    histograms = series.histograms
    figures = dict(series.figures())
    label = "mean"
    if not series.numeric:
        label = largest_shares(histograms, everywhere=False)[0]
    newest = next(estimate for estimate in reversed(figures[label]) if estimate is not None)
    reports = sum(histogram.n for histogram in histograms)
    epochs = [point.epoch for point in series.points if point.histogram]

    def drawing(width: float) -> str:
        (panel,) = series_panels(series, figures=[(label, figures[label])])
        numbers = [point.epoch for point in series.points]
        return sparkline(panel, numbers, width, scale=series_scale(series))

    return Document(
        facts=[Fact("reports", f"{reports:,} in {epochs_text(epochs)}", "reports", reports)],
        sentence=newest.sentence,
        cautions=[caution for caution in newest.cautions if caution.brief],
        chart=drawing,
    )
