"""Who may ask: token, Host, Origin, sizes, decided on header lines alone."""

from http import HTTPStatus

import pytest

from picker_dynamics.scripting.view.access import BODY_BYTES, Door, RefusedAccess

TOKEN = "a-token-of-this-test"
STOP = "/api/stop"
PAGE = "0123456789abcdef.01"


def door(host: str = "127.0.0.1") -> Door:
    return Door(host, 8642, TOKEN)


def lines(**changed: str | None) -> dict[str, str]:
    """Header lines of a good request, but for some."""
    good = {
        "Host": "127.0.0.1:8642",
        "Origin": "http://127.0.0.1:8642",
        "Sec-Fetch-Site": "same-origin",
        "Authorization": f"Bearer {TOKEN}",
        "X-Page": PAGE,
        "Content-Type": "application/json",
        "Content-Length": "20",
    } | {name.replace("_", "-"): value for name, value in changed.items()}
    return {name: value for name, value in good.items() if value is not None}


def refused(method: str, path: str, headers: dict[str, str], at: Door | None = None) -> HTTPStatus:
    with pytest.raises(RefusedAccess) as caught:
        (at or door()).check(method, path, headers)
    return caught.value.status


def test_a_page_of_this_server_may_ask():
    door().check("POST", "/api/do", lines())
    door().check("GET", "/api/stream", lines(Origin=None))
    door().check("GET", "/", {"Host": "localhost:8642", "Sec-Fetch-Site": "cross-site"})  # a link to the page, from anywhere


@pytest.mark.parametrize("host", ["", "evil.example:8642", "127.0.0.1:1", "127.0.0.1:8642x", "10.0.0.9:8642"])
def test_another_host_is_another_server(host):
    assert refused("GET", "/", lines(Host=host)) is HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize("origin", ["null", "https://127.0.0.1:8642", "http://localhost:8642"])
def test_another_page_is_refused(origin):
    assert refused("POST", STOP, lines(Origin=origin)) is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_a_browser_says_where_a_request_comes_from(site):
    assert refused("GET", "/api/arm", lines(Origin=None, Sec_Fetch_Site=site)) is HTTPStatus.FORBIDDEN
    assert refused("GET", "/app.js", lines(Origin=None, Sec_Fetch_Site=site)) is HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("given", [None, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer ö"])
def test_the_token_has_to_be_known(given):
    for path in ("/api/arm", "/api/do", STOP):
        assert refused("POST", path, lines(Authorization=given)) is HTTPStatus.UNAUTHORIZED


def test_a_random_token_is_long_and_another_one_each_time():
    tokens = {Door("127.0.0.1", 1).token for _ in range(20)}
    assert len(tokens) == 20 and min(map(len, tokens)) >= 24
    assert door().address == f"http://127.0.0.1:8642/#{TOKEN}"


@pytest.mark.parametrize(
    "changed, status",
    [
        ({"Content_Type": "text/plain"}, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        ({"Content_Length": None}, HTTPStatus.LENGTH_REQUIRED),
        ({"Content_Length": "²"}, HTTPStatus.LENGTH_REQUIRED),
        ({"Transfer_Encoding": "chunked"}, HTTPStatus.LENGTH_REQUIRED),
        ({"Content_Length": str(BODY_BYTES + 1)}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        ({"X_Page": "../.."}, HTTPStatus.BAD_REQUEST),
    ],
)
def test_a_request_is_json_of_a_bounded_size(changed, status):
    assert refused("POST", "/api/do", lines(**changed)) is status


def test_beyond_this_machine_numbers_and_its_own_name_are_hosts_and_no_other_names():
    at = Door("0.0.0.0", 8642, TOKEN)
    assert at.is_here("192.168.1.7:8642") and at.is_here("[fe80::1]:8642") and at.is_here("localhost:8642")
    assert not at.is_here("rebound.example:8642") and not at.is_here("192.168.1.7:80")
    assert Door("arm.local", 8642, TOKEN).is_here("ARM.local:8642")
