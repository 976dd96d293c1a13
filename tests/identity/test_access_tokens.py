"""Only a token that this application made, unchanged, in time, of a login that lives, opens anything."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import jwt
import pytest

from app.identity.tokens import CLAIMS, Principal, issue_access_token, verify_access_token
from app.ports.parts import Parts
from tests.conftest import Person

SECRET = b"a secret of thirty-two bytes, or more"
Claims = dict[str, Any]


def bearer(person: Person) -> str:
    return person.client.headers["authorization"].removeprefix("Bearer ")


def claims_of(token: str) -> Claims:
    claims: Claims = jwt.decode(token, options={"verify_signature": False})
    return claims


def signed(claims: Claims, secret: bytes | str, *, algorithm: str = "HS256", typ: str | None = "at+jwt") -> str:
    return jwt.encode(claims, secret, algorithm=algorithm, headers={"typ": typ})


async def code_for(anonymous: httpx.AsyncClient, token: str) -> str:
    answer = await anonymous.get("/v1/auth/me", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 401, answer.text
    assert answer.headers["www-authenticate"] == "Bearer"
    code: str = answer.json()["code"]
    return code


def test_a_token_names_whom_it_was_made_for() -> None:
    principal = Principal(uuid4(), uuid4(), uuid4())
    token = issue_access_token(principal, SECRET, timedelta(minutes=1))
    assert verify_access_token(token, SECRET) == principal
    assert set(claims_of(token)) == set(CLAIMS)


async def test_without_a_token(anonymous: httpx.AsyncClient, owner: Person) -> None:
    answer = await anonymous.get("/v1/auth/me")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    for header in ("Basic abc", "Bearer", bearer(owner)):
        assert (await anonymous.get("/v1/auth/me", headers={"authorization": header})).status_code == 401


@pytest.mark.parametrize("name", CLAIMS)
async def test_every_claim_is_required(anonymous: httpx.AsyncClient, owner: Person, parts: Parts, name: str) -> None:
    claims = claims_of(bearer(owner))
    assert (
        await anonymous.get("/v1/auth/me", headers={"authorization": f"Bearer {signed(claims, parts.secret_key)}"})
    ).status_code == 200
    del claims[name]
    assert await code_for(anonymous, signed(claims, parts.secret_key)) == "token_invalid"


FORGERIES: dict[str, Callable[[Claims, bytes], str]] = {
    "no algorithm": lambda claims, _: signed(claims, "", algorithm="none"),
    "another algorithm": lambda claims, secret: signed(claims, secret + secret, algorithm="HS512"),
    "another key": lambda claims, _: signed(claims, SECRET),
    "another type": lambda claims, secret: signed(claims, secret, typ="JWT"),
    "no type": lambda claims, secret: signed(claims, secret, typ=None),
    "another issuer": lambda claims, secret: signed({**claims, "iss": "elsewhere"}, secret),
    "another audience": lambda claims, secret: signed({**claims, "aud": "elsewhere"}, secret),
    "several audiences": lambda claims, secret: signed({**claims, "aud": ["biggraph-api", "x"]}, secret),
    "not yet": lambda claims, secret: signed({**claims, "nbf": claims["exp"]}, secret),
    "no number": lambda claims, secret: signed({**claims, "exp": "soon"}, secret),
    "no id": lambda claims, secret: signed({**claims, "tid": "*"}, secret),
    "a number as id": lambda claims, secret: signed({**claims, "tid": 7}, secret),
    "no signature": lambda claims, secret: signed(claims, secret).rpartition(".")[0] + ".",
    "a changed payload": lambda claims, secret: ".".join(
        [
            signed(claims, secret).split(".")[0],
            signed({**claims, "tid": str(UUID(int=1))}, SECRET).split(".")[1],
            signed(claims, secret).split(".")[2],
        ]
    ),
    "nonsense": lambda _claims, _secret: "a.b.c",
    "nothing like it": lambda _claims, _secret: "x" * 5000,
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_forgeries(anonymous: httpx.AsyncClient, owner: Person, parts: Parts, forgery: str) -> None:
    token = FORGERIES[forgery](claims_of(bearer(owner)), parts.secret_key)
    assert await code_for(anonymous, token) == "token_invalid"


async def test_expired(anonymous: httpx.AsyncClient, owner: Person, parts: Parts) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    token = signed({**claims_of(bearer(owner)), "exp": past}, parts.secret_key)
    assert await code_for(anonymous, token) == "token_expired"


async def test_a_refresh_token_is_no_access_token(anonymous: httpx.AsyncClient, owner: Person) -> None:
    tokens = await anonymous.post("/v1/auth/login", json={"email": owner.email, "password": owner.password})
    assert await code_for(anonymous, tokens.json()["refresh_token"]) == "token_invalid"


@pytest.mark.parametrize("claim", ["tid", "sub", "sid"])
async def test_genuine_tokens_of_a_mixed_up_login(
    anonymous: httpx.AsyncClient, owner: Person, stranger: Person, parts: Parts, claim: str
) -> None:
    """Even with the key in hand: person, tenant and login must belong together in Postgres."""
    mixed = {**claims_of(bearer(owner)), claim: claims_of(bearer(stranger))[claim]}
    assert await code_for(anonymous, signed(mixed, parts.secret_key)) == "login_ended"


async def test_the_tenant_comes_from_the_token_alone(owner: Person, stranger: Person) -> None:
    answer = await owner.client.get(
        "/v1/auth/me",
        params={"tenant_id": stranger.tenant_id},
        headers={"x-tenant-id": stranger.tenant_id, "x-tenant": stranger.tenant_id},
    )
    assert answer.json()["tenant"]["id"] == owner.tenant_id
