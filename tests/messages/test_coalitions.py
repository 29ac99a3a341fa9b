"""Who learns what: the sentences say no less than what each party sees, joined, gives."""

import re
from itertools import chain, combinations, product
from typing import Literal

import pytest

from deniable.messages.coalitions import Coalitions

Mode = Literal["open", "certificate", "blind"]
MODES: tuple[Mode, ...] = ("open", "certificate", "blind")
PARTIES = ("collector", "issuer", "relay")
WAYS = list(product(MODES, (False, True), (False, True)))


def _views(mode: Mode, relayed: bool, same: bool) -> dict[str, set[tuple[str, str]]]:
    """Return which things each party sees beside each other, by the protocol."""
    collector = {("response", "key")}
    collector.add(("key", "sealed") if relayed else ("key", "address"))
    issuer = set() if mode == "open" else {("account", "address"), ("account", "blinded")}
    if mode == "certificate":
        issuer.add(("account", "key"))
    if mode == "blind" and not same:  # a modulus of one device is in its survey, and seen by both
        issuer.add(("account", "survey"))
        collector.add(("key", "survey"))
    relay = {("sealed", "address")} if relayed else set()
    return {"collector": collector, "issuer": issuer, "relay": relay}


def _reached(start: str, links: set[tuple[str, str]]) -> set[str]:
    reached = {start}
    while more := {
        end for one in links for end in one if reached.intersection(one) and end not in reached
    }:
        reached |= more
    return reached


def _least(views: dict[str, set[tuple[str, str]]], start: str, end: str) -> set[frozenset[str]]:
    """Return the smallest coalitions whose views, joined, lead from one thing to another."""
    every = chain.from_iterable(combinations(PARTIES, size) for size in (1, 2, 3))
    able = {
        frozenset(joined)
        for joined in every
        if end in _reached(start, set().union(*(views[party] for party in joined)))
    }
    return {joined for joined in able if not any(other < joined for other in able)}


def _said(sentence: str) -> set[frozenset[str]]:
    parts = (
        frozenset(re.findall(r"\b(collector|issuer|relay)\b", part))
        for part in sentence.split(", or ")
    )
    return {part for part in parts if part}


@pytest.mark.parametrize(("mode", "relayed", "same"), WAYS)
def test_the_sentences_name_exactly_the_coalitions_that_can(
    mode: Mode, relayed: bool, same: bool
) -> None:
    views = _views(mode, relayed, same)
    table = Coalitions.of(mode, relayed=relayed, same=same)
    part, response, address, account, answer = table.rows
    seers = {party for party in PARTIES if {"account", "address"} & {*chain(*views[party])}}
    assert _said(part[1]) == {frozenset({party}) for party in seers}
    assert _said(response[1]) == {frozenset({"collector"})}
    assert _said(address[1]) == _least(views, "response", "address")
    assert _said(account[1]) == _least(views, "response", "account")
    assert answer[1].startswith("nobody: together")
    if same:  # where it is up to the app, the condition says what holds in others
        for_all = Coalitions.of(mode, relayed=relayed)
        assert for_all.rows == table.rows
        beside = for_all.condition.removeprefix(table.condition)
        more = _least(_views(mode, relayed, same=False), "response", "account")
        assert _said(beside) == (more if mode == "blind" else set())
    # Where each stands by itself there is nothing to keep apart.
    apart = any(len(joined) > 1 for row in (address, account) for joined in _said(row[1]))
    assert bool(table.condition) == apart
