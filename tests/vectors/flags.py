"""The flags of the vectors: what kind of fault a test looks for, and what comes of it."""

from typing import Final

_TABLE: Final = """\
Ordinary BASIC
What an ordinary implementation meets every day.
It works with nobody else's.
Extreme EDGE_CASE
The least or the greatest value that can come.
Floats, 53 and signed 64 bits give other probabilities than those that were certified.
Boundary EDGE_CASE
A word, or a time, just below or at the border between two outcomes.
Off by one: probabilities are not those that were certified, and epsilon is not kept.
WideProduct EDGE_CASE
Two words are one number of 128 bits, which is multiplied by the number of blocks.
A product that is cut or rounded draws some blocks more often than was certified.
Blank EDGE_CASE
One of the few words that no weight takes: the base block is sent as it is.
An outcome that exists for some answers alone tells them for certain.
Rejected EDGE_CASE
A word that is the number of no question, so that the next one is taken.
Questions are drawn with other odds than were certified.
EqualBlocks EDGE_CASE
Several vectors make the same block, and one response stands for all of them.
Responses are numbered otherwise than the collector has it: its figures are noise.
SeveralAnswers BASIC
The answers to several questions, of which one or all are answered.
The wrong answer is taken, or answers are combined in another order.
OneAnswer PRIVACY
One of several blind surveys is drawn for an epoch, from the device's secret alone.
Two tokens are asked for in one session: two reports are seen to be one device's.
ExactExponential EDGE_CASE
An integer that follows from e^epsilon, which no float holds well enough.
Device and collector hold different integers; or epsilon is not kept, if it is too small.
WideInteger EDGE_CASE
An integer above 2^53.
Read as a float it becomes another one: another key, another survey, another signature.
NotCanonical CANONICAL_FORM
Another encoding of what would be fine: a longer header, other order, one key twice.
One message has two forms: ids, signatures and duplicates come apart.
TrailingBytes CANONICAL_FORM
Bytes behind the message.
One message has many forms; and what is behind may be read by somebody else.
WrongLength INPUT_VALIDATION
Bytes are missing, or there are too many of them.
Memory beyond the message is read, or a short key or signature is taken.
ForeignValue INPUT_VALIDATION
A value of a type, or out of a range, that the protocol has not there: floats, true, nil.
Languages convert such values each in its own way, and disagree on what was said.
WrongShape INPUT_VALIDATION
Other fields, more or fewer of them, or another container.
What nobody looked at is accepted, or it crashes.
Bomb DENIAL_OF_SERVICE
A length, a depth or a number of elements that is claimed and not there.
A few bytes take the memory or the stack of whoever reads them.
TooMuch DENIAL_OF_SERVICE
More than the protocol allows in one message.
One request costs as much as many.
OutOfDomain INPUT_VALIDATION
A value of the right type that the protocol does not allow.
A survey, an epoch or a response that nobody has agreed to.
LookAlike SPOOFING
Texts that a person cannot tell apart, or that reorder or hide others.
A person agrees to what she did not read.
LaterUnicode INPUT_VALIDATION
A character that Unicode 14.0 has not, which systems know or not by their age.
One device takes a survey that another refuses.
Uncertified PRIVACY
A mechanism with parameters that are none, or that do not keep the declared epsilon.
Answers are less private than the person was told.
WeakModulus PRIVACY
A modulus that is short, even, has a small factor, or shares one.
The issuer can tell whose token it sees, or anybody can forge one.
SmallOrder AUTH_BYPASS
A key or an R of small order, with a signature that the equation accepts.
One signature fits any message; anybody signs for a key that nobody owns.
NotCanonicalPoint SIGNATURE_MALLEABILITY
A point whose y is p or more, or whose sign bit is set where x is 0.
One key has two encodings, and is two devices.
Malleable SIGNATURE_MALLEABILITY
S is L or more.
One signature has several forms.
NoPoint AUTH_BYPASS
A key that is no point of the curve.
Arithmetic beyond the curve accepts what nobody signed.
Forged AUTH_BYPASS
A signature that was altered, or is somebody else's, or of something else.
Anybody publishes surveys, or sends reports as another device.
CrossContext AUTH_BYPASS
A signature over the same bytes in another context, or in none.
What was signed for one purpose is used for another.
NotVouched AUTH_BYPASS
A certificate or token that is missing, or of another key, epoch, survey or issuer.
One person is counted as many.
ForeignCredential INPUT_VALIDATION
A credential of another mode of enrolment than the survey's.
One report has two forms; or a survey that knows no device is told of one.
UnknownSurvey JUDGEMENT
A survey that is not published, or not for this purpose.
Reports are counted that nobody can read.
Clock JUDGEMENT
An epoch that is not open at the given second.
A report is counted in an epoch that is sealed.
OrderOfChecks JUDGEMENT
Two faults in one message: the first in order gives the code.
Devices drop or resend the wrong reports; receipts tell of keys to those who hold none.
Conflict JUDGEMENT
A second report of one key and epoch.
One device is counted twice, or its response is replaced.
Fork AUTH_BYPASS
One key hands over twice.
Devices follow a thief.
BrokenChain AUTH_BYPASS
Rotations whose sequences or keys do not follow from each other.
An old key comes back, or a rotation is left out unseen.
CaptivePortal ROBUSTNESS
An answer by somebody on the way, or none that the protocol has.
A report is dropped, or called delivered, that the collector has never seen (D8).
Miscounted ROBUSTNESS
An answer whose numbers do not add up to what was sent.
A report is called delivered that the collector has never counted (D8).
Altered CONFIDENTIALITY
Sealed bytes that were altered on the way, or name other algorithms.
Whoever is on the way chooses what is read.
ForeignKey CONFIDENTIALITY
Bytes that were sealed for another key, or in another exchange.
The answer to one request is taken for that to another.
Unwitnessed AUTH_BYPASS
Fewer of the policy's witnesses have cosigned than its quorum, or none of them really.
One person is shown a survey that nobody else can see.
WrongPath AUTH_BYPASS
A path that does not lead from this entry, at this index, to the signed root.
What was never published passes for what everybody can see.
"""
"""Three lines a flag: its name and the type of bug, what a test of it holds, what comes of it."""

_LINES: Final = _TABLE.splitlines()
NOTES: Final = {
    flag: {"bugType": bug, "description": description, "effect": effect}
    for (flag, bug), description, effect in zip(
        map(str.split, _LINES[::3]), _LINES[1::3], _LINES[2::3], strict=True
    )
}
