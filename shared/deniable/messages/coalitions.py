"""The coalitions that learn something of a device: who would have to join whom, to learn what.

Each sees a part of a report's way:

- the collector: the response, its key, and the network address; of a relayed report none;
- the issuer: the account and the address that asks it; a certificate's key as well, of a token
  (``blind``) nothing that the collector sees, unless the survey is one for this device alone, or
  the gateway's key, which joins its reports of many epochs;
- the relay: the address and the time, nothing of what is inside;
- an access log of the app's backend: accounts, their addresses, and when the app is open. Surveys
  that are not blind, in the same app, are such a log: their requests show the issuer and the
  collector when it is open.

A coalition can tell whose a response is if what it sees shares a key or an address; a moment leaves
those whose app was open. Each sentence is a message id of gettext, as in ``messages.notice``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Translate = Callable[[str], str]
"""A function such as the ``gettext`` of a translation; it returns other texts as they are."""
Mode = Literal["open", "certificate", "blind"]
Row = tuple[str, str]
"""A thing to learn, and who could: alone, or only together."""


@dataclass(frozen=True, slots=True)
class Coalitions:
    """The table of five rows."""

    title: str
    heads: Row
    rows: tuple[Row, ...]
    condition: str  # on which it holds, and among whom a response hides

    @classmethod
    def of(
        cls,
        mode: Mode,
        *,
        relayed: bool,
        same: bool | None = None,
        beside: bool = False,
        translate: Translate = str,
    ) -> "Coalitions":
        """Return the table for a survey.

        Args:
            mode: of its enrolment.
            relayed: whether reports go through a relay.
            same: whether it is certain that all devices get the same survey, and seal for the same
                gateway key; for tokens it counts. None where that is up to the app: then the rows
                are as if it were, and the condition says so, and of ``beside``.
            beside: whether the device takes part in other surveys, which are not blind.
            translate: gives each sentence in another language.
        """
        _, shared = translate, same is not False
        betrayed = beside and mode == "blind"  # the issuer sees which account, the collector when
        rows = (
            (_("That you take part"), _part(mode, relayed, _)),
            (_("A response"), _("the collector")),
            (
                _("Which network address a response came from"),
                _address("certificate" if betrayed else mode, relayed, shared, _),
            ),
            (
                _("Which account a response came from"),
                _account(mode, relayed, shared, betrayed and relayed, _),
            ),
            (_("Your answer"), _("nobody: together they have only responses that dice chose")),
        )
        condition = _(
            "This holds while they do not put their records together. An access log shows when "
            "your app is open: for whoever has that too, a response hides only among the people "
            "whose app was open when it came, and they may be few."
        )
        if mode == "blind" and same is None:
            apps = _(
                "It is so for a survey that came with the app, and if its other surveys are blind, "
                "too. One that was fetched, or a key that was fetched to seal with, could be given "
                "to one device alone, and other surveys show when the app is open: then the issuer "
                "and the collector together could tell whose a response is."
            )
            condition = f"{condition} {apps}"
        return cls(_("Who could learn what"), (_("To learn"), _("it takes")), rows, condition)

    @property
    def linking(self) -> tuple[Row, ...]:
        """Return the rows on whose a response is, where the others are soon said."""
        return self.rows[2:4]

    def text(self, rows: Iterable[Row]) -> str:
        """Return some of the rows, and the condition, in sentences."""
        return " ".join([*(f"{what}: {who}." for what, who in rows), self.condition]).strip()


def _part(mode: Mode, relayed: bool, _: Translate) -> str:
    others = _("the collector by your network address, or the network itself")
    if relayed:
        others = _("the relay by your network address, or the network itself")
    if mode == "open":
        return others
    return _("the issuer by your account, or {others}").format(others=others)


def _address(mode: Mode, relayed: bool, same: bool, _: Translate) -> str:
    if not relayed:
        return _("the collector")
    if mode == "open" or (mode == "blind" and same):
        who = _("the relay and the collector together")
    elif mode == "certificate":
        who = _(
            "the relay and the collector together, or the issuer, which is asked from there, and "
            "the collector"
        )
    else:
        who = _(
            "the relay and the collector together, or the issuer and the collector if the survey "
            "or the key that this app fetched was made for this device alone"
        )
    return _("{some}; or {others}").format(some=who, others=_logged(relayed, _))


def _account(mode: Mode, relayed: bool, same: bool, betrayed: bool, _: Translate) -> str:
    if mode == "open":
        return _logged(relayed, _)
    if mode == "certificate":
        who = _("the issuer and the collector together, by the key that both see")
    elif betrayed:
        who = _(
            "the issuer and the collector together, since this app's other questions, which take "
            "no blind token, show when it is open"
        )
    elif same and not relayed:
        who = _(
            "the issuer and the collector together, by the network address that both see, though "
            "not by what the issuer signs"
        )
    elif same:
        who = _(
            "the issuer, the relay and the collector, all three together, by your network address"
        )
    elif not relayed:
        who = _(
            "the issuer and the collector together, by the network address that both see, or if "
            "the survey that this app fetched was made for this device alone"
        )
    else:
        who = _(
            "the issuer and the collector together, if the survey or the key that this app fetched "
            "was made for this device alone"
        )
    return _("{some}; or {others}").format(some=who, others=_logged(relayed, _))


def _logged(relayed: bool, _: Translate) -> str:
    """Return the party that sees accounts, addresses and moments, and whom it joins."""
    if relayed:
        return _(
            "an access log of the app's backend and the collector together, among the people whose "
            "app was open at that moment"
        )
    return _(
        "an access log of the app's backend and the collector together, by the network address "
        "that both see"
    )
