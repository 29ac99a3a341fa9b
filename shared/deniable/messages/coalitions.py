"""The coalitions that learn something of a device: who would have to join whom, to learn what.

Each sees a part of a report's way:

- the collector: the response, its key, and the network address; of a relayed report none;
- the issuer: the account and the address that asks it; a certificate's key as well, of a token
  (``blind``) nothing that the collector sees, unless the survey is one for this device alone, or
  the gateway's key, which joins its reports of many epochs;
- the relay: the address and the time, nothing of what is inside.

A coalition can tell whose a response is if what it sees shares a key or an address. Each sentence
is a message id of gettext, as in ``deniable.messages.notice``.
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
    """The table of five rows: each a thing to learn, and who could, alone or only together."""

    title: str
    heads: Row
    rows: tuple[Row, ...]
    condition: str  # on which it holds; "" where nothing rests on parties apart

    @classmethod
    def of(
        cls, mode: Mode, *, relayed: bool, same: bool | None = None, translate: Translate = str
    ) -> "Coalitions":
        """Return the table for a survey.

        Args:
            mode: of its enrolment.
            relayed: whether reports go through a relay.
            same: whether it is certain that all devices get the same survey, and seal for the same
                gateway key; for tokens it counts. None where that is up to the app: then the
                rows are those of apps for which it is, and the condition says so.
            translate: gives each sentence in another language.
        """
        _, shared = translate, same is not False
        rows = (
            (_("That you take part"), _part(mode, relayed, _)),
            (_("A response"), _("the collector")),
            (_("Which network address a response came from"), _address(mode, relayed, shared, _)),
            (_("Which account a response came from"), _account(mode, relayed, shared, _)),
            (_("Your answer"), _("nobody: together they have only responses that dice chose")),
        )
        condition = ""
        if mode != "open" or relayed:
            condition = _(
                "This holds while they do not put their records together. A response hides among "
                "those of its time slice: where they are few, or it comes at a telling moment, "
                "less."
            )
        if mode == "blind" and same is None:
            beside = _(
                "It is so in apps that came with this survey, or take only what witnesses have "
                "seen in its public log; a survey that another app fetched, or a key that it "
                "fetched to seal with, could be made for one device alone: then the issuer and the "
                "collector together could tell whose a response is."
            )
            condition = f"{condition} {beside}"
        return cls(_("Who could learn what"), (_("To learn"), _("it takes")), rows, condition)

    @property
    def linking(self) -> tuple[Row, ...]:
        """Return the rows on whose a response is, where the others are soon said."""
        return self.rows[2:4]

    def text(self, rows: Iterable[Row]) -> str:
        """Return some of the rows, and the condition, in sentences."""
        return " ".join([*(f"{what}: {who}." for what, who in rows), self.condition]).strip()


def _part(mode: Mode, relayed: bool, _: Translate) -> str:
    if mode == "open":
        if relayed:
            return _("the relay by your network address, or the network itself")
        return _("the collector by your network address, or the network itself")
    if relayed:
        return _(
            "the issuer by your account, or the relay by your network address, or the network "
            "itself"
        )
    return _(
        "the issuer by your account, or the collector by your network address, or the network "
        "itself"
    )


def _address(mode: Mode, relayed: bool, same: bool, _: Translate) -> str:
    if not relayed:
        return _("the collector")
    if mode == "open" or (mode == "blind" and same):
        return _("the relay and the collector together")
    if mode == "certificate":
        return _(
            "the relay and the collector together, or the issuer, which is asked from there, and "
            "the collector"
        )
    return _(
        "the relay and the collector together, or the issuer and the collector if the survey or "
        "the key that this app fetched was made for this device alone"
    )


def _account(mode: Mode, relayed: bool, same: bool, _: Translate) -> str:
    if mode == "open":
        return _("nobody: no account is asked for")
    if mode == "certificate":
        return _("the issuer and the collector together, by the key that both see")
    if same and not relayed:
        return _(
            "the issuer and the collector together, by the network address that both see, though "
            "not by what the issuer signs"
        )
    if same:
        return _(
            "only the issuer, the relay and the collector, all three together, by your network "
            "address"
        )
    if not relayed:
        return _(
            "the issuer and the collector together, by the network address that both see, or if "
            "the survey that this app fetched was made for this device alone"
        )
    return _(
        "the issuer and the collector together, if the survey or the key that this app fetched was "
        "made for this device alone"
    )
