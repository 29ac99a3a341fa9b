"""Origins: one form only, so that they can be compared byte for byte."""

import pytest

from deniable.messages import InvalidManifest, check_origin

TAKEN = [
    *("https://collector.example", "https://collector.example:8443", "https://a", "https://9"),
    *("https://xn--bcher-kva.example", "https://a-b.c-d.example:1", "https://a:65535"),
    "https://a:80",  # not the default of https
    *("https://192.0.2.1", "https://[2001:db8::1]", "https://[2001:db8::1]:8443", "https://[::1]"),
    *("https://127.0.0.1", "http://127.0.0.1", "http://127.0.0.1:8080"),
    "http://127.0.0.1:443",  # not the default of http
    *("http://[::1]", "http://[::1]:8080", "https://" + "a" * 253),
]

REFUSED = [
    *("", "collector.example", "//collector.example", "https:collector.example"),
    *("https:/collector.example", "https://", "https://:8443"),
    # not https
    *("http://collector.example", "http://localhost", "http://127.0.0.2"),
    *("http://127.0.0.1.example", "http://127.1", "http://[::2]", "ftp://collector.example"),
    *("wss://collector.example", "file:///etc/passwd"),
    # more than an origin
    *("https://collector.example/", "https://collector.example/v1", "https://collector.example?x"),
    *("https://collector.example#x", "https://user@collector.example"),
    *("https://user:password@collector.example", "https://collector.example:8443/"),
    "https://collector.example\\x",
    # another spelling of an origin
    *("HTTPS://collector.example", "https://Collector.example", "https://bücher.example"),
    *("https://collector.example ", " https://collector.example", "https://collector.example\n"),
    *("https://collector.example\0", "https://collector.example.", "https://.collector.example"),
    *("https://collector..example", "https://-collector.example", "https://collector.example-"),
    *("https://collector_1.example", "https://collector%2eexample", "https://collector。example"),
    "https://" + "a" * 254,
    # ports
    *("https://collector.example:", "https://collector.example:0", "https://collector.example:443"),
    *("https://collector.example:0443", "https://collector.example:08443"),
    *("https://collector.example:65536", "https://collector.example:100000"),
    *("https://collector.example:-1", "https://collector.example:٨"),
    *("https://collector.example:8443:1", "http://127.0.0.1:80", "http://[::1]:80"),
    # addresses of IPv6 that are not written as RFC 5952 writes them, or are none
    *("https://2001:db8::1", "https://[2001:DB8::1]", "https://[2001:0db8::1]"),
    *("https://[2001:db8:0:0:0:0:0:1]", "https://[0:0:0:0:0:0:0:1]", "https://[::0001]"),
    *("https://[::1%eth0]", "https://[]", "https://[:]", "https://[:::]", "https://[1.2.3.4]"),
    *("https://[::1", "https://::1]", "https://[::1]x", "https://[v1.a]"),
]


@pytest.mark.parametrize("origin", TAKEN)
def test_an_origin_in_its_one_form_is_taken(origin: str) -> None:
    check_origin(origin)


@pytest.mark.parametrize("origin", REFUSED)
def test_anything_else_is_refused_without_being_repeated(origin: str) -> None:
    with pytest.raises(InvalidManifest) as invalid:
        check_origin(origin)
    assert invalid.value.field == "origin"
    assert "collector" not in str(invalid.value)
