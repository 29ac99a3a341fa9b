"""Conformance: a hostile collector takes any device through the protocol's rules D1 to D13.

1. A scenario is what the collector, the user and the clocks do to a device, and the observations
   that convict it. Whatever it plays, its log is judged by what no device ever does.
2. The device is a program of any language, which speaks lines of JSON; the network is real HTTP on
   127.0.0.1. Its clocks are the tester's.
3. A rule holds if every scenario of it that the device offers to be tested for was played to its
   end without a conviction. What was not offered is never called passed.
"""

from deniable.conformance.adapter import AdapterBroke as AdapterBroke
from deniable.conformance.running import Judgement as Judgement
from deniable.conformance.running import Verdict as Verdict
from deniable.conformance.running import hello as hello
from deniable.conformance.running import judge as judge
from deniable.conformance.running import play_all as play_all
from deniable.conformance.running import scenarios_of as scenarios_of
from deniable.conformance.running import verdicts_document as verdicts_document
from deniable.conformance.stage import RULES as RULES
