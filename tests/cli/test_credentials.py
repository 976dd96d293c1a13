"""Tokens that have expired, and several that find out at once."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from app.cli.client import Api, ApiError
from app.cli.credentials import credentials_path, load_tokens, save_tokens
from tests.cli.conftest import Terminal


def expire(address: str) -> None:
    """The access token is refused from now on; the refresh token is good for one use, as ever."""
    save_tokens(address, {**load_tokens(address), "access_token": "expired"})


async def test_threads_and_shells_renew_one_after_the_other(logged_in: Terminal, address: str) -> None:
    for _ in range(2):  # the second round would find out that the first one ended the login
        expire(address)
        shells = [Api(address) for _ in range(3)]
        calls = [asyncio.to_thread(shell.call, "GET", "/v1/auth/me") for shell in shells for _ in range(4)]
        answers = await asyncio.gather(*calls)
        assert len({answer["user"]["id"] for answer in answers}) == 1
        for shell in shells:
            shell.close()
    assert (await logged_in.run("whoami")).code == 0


async def test_a_login_that_was_forgotten_meanwhile_is_not_renewed(logged_in: Terminal, address: str) -> None:
    expire(address)
    api = Api(address)
    save_tokens(address, None)
    with pytest.raises(ApiError) as raised:
        await asyncio.to_thread(api.call, "GET", "/v1/auth/me")
    api.close()
    assert raised.value.error_code == "token_invalid"
    assert load_tokens(address) == {}


def test_a_connection_that_breaks_while_renewing_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    url = "http://127.0.0.1:8000"
    save_tokens(url, {"access_token": "a", "refresh_token": "r"})

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/auth/refresh":
            raise httpx.ReadError("The peer has left.", request=request)
        return httpx.Response(401, json={"code": "not_authenticated", "detail": "Expired."})

    api = Api(url, transport=httpx.MockTransport(answer))
    with pytest.raises(ApiError) as raised:
        api.call("GET", "/v1/auth/me")
    api.close()
    assert raised.value.detail == f"The connection to {url} broke: The peer has left."


async def test_a_logout_ends_the_login_at_the_server(logged_in: Terminal, address: str) -> None:
    kept = load_tokens(address)
    said = await logged_in.run("logout")
    assert said.code == 0, said
    assert load_tokens(address) == {}
    async with httpx.AsyncClient(base_url=address) as client:
        answer = await client.post("/v1/auth/refresh", json={"refresh_token": kept["refresh_token"]})
    assert (answer.status_code, answer.json()["code"]) == (401, "login_ended")
    assert (await logged_in.run("logout")).code == 0


async def test_a_logout_without_a_server_forgets_the_login_and_says_what_is_left(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGGRAPH_URL", url := "http://127.0.0.1:1")
    save_tokens(url, {"access_token": "a", "refresh_token": "r"})
    said = await terminal.run("logout")
    assert said.code == 1
    assert "until it expires: Nothing answers at" in said.out
    assert load_tokens(url) == {}


def test_tokens_are_for_their_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    save_tokens("http://one", {"access_token": "a", "refresh_token": "r", "token_type": "bearer"})
    save_tokens("http://two", {"access_token": "b", "refresh_token": "s"})
    save_tokens("http://one", None)
    assert json.loads(credentials_path().read_text()) == {"http://two": {"access_token": "b", "refresh_token": "s"}}
    assert credentials_path().stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.com", "http://", "http://[::1", "http://a:port"])
async def test_an_address_that_is_none_names_its_setting(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("BIGGRAPH_URL", url)
    said = await terminal.run("whoami")
    assert said.code == 1
    assert said.error.startswith(f"bad_url: BIGGRAPH_URL is “{url.rstrip('/')}”")
    assert ".." not in said.error


async def test_a_new_password_is_asked_for_twice(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["correct horse 1", "correct horse 2", "correct horse 3", "correct horse 3"])
    monkeypatch.setattr("getpass.getpass", lambda _prompt: next(typed))
    said = await terminal.run("register", "--email", "twice@example.com", "--tenant", "Twice")
    assert said.code == 0, said
    assert next(typed, None) is None
    again = await terminal.run("login", "--email", "twice@example.com", "--password", "correct horse 3")
    assert again.code == 0, again
