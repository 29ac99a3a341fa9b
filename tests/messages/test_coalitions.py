"""Who learns what: the sentences say no less than what each party sees, joined, gives."""

import re
from itertools import chain, combinations, product
from typing import Literal

import pytest

from deniable.terms.sentences import Coalitions

Mode = Literal["open", "certificate", "blind"]
MODES: tuple[Mode, ...] = ("open", "certificate", "blind")
PARTIES = ("collector", "issuer", "relay", "access log")
WAYS = list(product(MODES, *[(False, True)] * 3))


def _views(mode: Mode, relayed: bool, same: bool, beside: bool) -> dict[str, set[tuple[str, str]]]:
    """Return which things each party sees beside each other, by the protocol.

    A moment leaves those whose app was open; it counts for who sees that of all apps, not of some.
    """
    collector = {("response", "key"), ("key", "moment")}
    collector.add(("key", "sealed") if relayed else ("key", "address"))
    issuer = set() if mode == "open" else {("account", "address"), ("account", "blinded")}
    if mode == "certificate":
        issuer.add(("account", "key"))
    if mode == "blind" and not same:  # a modulus of one device is in its survey, and seen by both
        issuer.add(("account", "survey"))
        collector.add(("key", "survey"))
    if (
        mode == "blind" and beside
    ):  # other surveys tell it, with the collector, when the app is open
        issuer.add(("account", "moment"))
    relay = {("sealed", "address")} if relayed else set()
    log = {("account", "address"), ("account", "moment")}
    return {"collector": collector, "issuer": issuer, "relay": relay, "access log": log}


def _reached(start: str, links: set[tuple[str, str]]) -> set[str]:
    reached = {start}
    while more := {
        end for one in links for end in one if reached.intersection(one) and end not in reached
    }:
        reached |= more
    return reached


def _least(views: dict[str, set[tuple[str, str]]], start: str, end: str) -> set[frozenset[str]]:
    """Return the smallest coalitions whose views, joined, lead from one thing to another."""
    every = chain.from_iterable(combinations(PARTIES, size) for size in range(1, 5))
    able = {
        frozenset(joined)
        for joined in every
        if end in _reached(start, set().union(*(views[party] for party in joined)))
    }
    return {joined for joined in able if not any(other < joined for other in able)}


def _said(sentence: str) -> set[frozenset[str]]:
    parts = (
        frozenset(re.findall(r"\b(collector|issuer|relay|access log)\b", part))
        for part in re.split("[,;] or ", sentence)
    )
    return {part for part in parts if part}


@pytest.mark.parametrize(("mode", "relayed", "same", "beside"), WAYS)
def test_the_sentences_name_exactly_the_coalitions_that_can(
    mode: Mode, relayed: bool, same: bool, beside: bool
) -> None:
    views = _views(mode, relayed, same, beside)
    table = Coalitions.of(mode, relayed=relayed, same=same, beside=beside)
    part, response, address, account, answer = table.rows
    asked = [party for party in PARTIES if party != "access log"]  # it sees all, who do not too
    seers = {party for party in asked if {"account", "address"} & {*chain(*views[party])}}
    assert _said(part[1]) == {frozenset({party}) for party in seers}
    assert _said(response[1]) == {frozenset({"collector"})}
    assert _said(address[1]) == _least(views, "response", "address")
    assert _said(account[1]) == _least(views, "response", "account")
    assert answer[1].startswith("nobody for certain: dice choose each response")
    if same and not beside:  # where it is up to the app, the condition says what holds in others
        for_all = Coalitions.of(mode, relayed=relayed)
        assert for_all.rows == table.rows
        fetching = for_all.condition.removeprefix(table.condition)
        fetched = _least(_views(mode, relayed, same=False, beside=True), "response", "account")
        told = {frozenset({"access log", "collector"})}
        assert _said(fetching) == (fetched - told if mode == "blind" else set())
    assert "among people whose app was open" in table.condition
