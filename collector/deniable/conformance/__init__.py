"""Conformance: a hostile collector tests any device against the protocol's rules D1 to D13.

1. A scenario consists of what the collector, the user and the clocks do to a device, and the
   observations that convict it. In every scenario, the log is also judged by what no device may
   ever do.
2. The device is a program in any language that exchanges lines of JSON; the network is real HTTP on
   127.0.0.1. The tester supplies its clocks.
3. A rule holds if every scenario for it that the device offers was played to its end without a
   conviction. A rule that was not offered is never reported as passed.
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
