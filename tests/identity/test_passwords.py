import asyncio

import pytest

from app.core.errors import InvalidInput, Unavailable
from app.identity.passwords import MAX_WAITING, Passwords, Verdict, check_password


@pytest.fixture
def passwords() -> Passwords:
    return Passwords()


@pytest.mark.parametrize("password", ["一匹马两匹马三匹", "x" * 256, "pass\u0000word", "        "])
async def test_what_was_hashed_is_recognised(passwords: Passwords, password: str) -> None:
    check_password(password, "a@example.com")
    stored = await passwords.hash(password)
    assert await passwords.verify(password, stored) == Verdict(correct=True)
    assert await passwords.verify(password + "x", stored) == Verdict(correct=False)
    assert await passwords.verify(password, None) == Verdict(correct=False)
    passwords.close()


async def test_hashing_leaves_the_event_loop_free(passwords: Passwords) -> None:
    ticks = 0
    work = asyncio.gather(*(passwords.hash("a password") for _ in range(4)))
    while not work.done():
        ticks += 1
        await asyncio.sleep(0)
    assert ticks > 20
    assert len(set(await work)) == 4
    passwords.close()


async def test_a_crowd_is_turned_away(passwords: Passwords) -> None:
    outcomes = await asyncio.gather(
        *(passwords.verify("a password", None) for _ in range(MAX_WAITING + 3)), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, Unavailable)]
    assert len(refused) == 3
    assert refused[0].retry_after == 2
    assert await passwords.verify("a password", None) == Verdict(correct=False)
    passwords.close()


@pytest.mark.parametrize("password", ["", "1234567", "x" * 257, "a@example.com", " A@Example.com "])
def test_passwords_that_may_not_be_chosen(password: str) -> None:
    with pytest.raises(InvalidInput):
        check_password(password, "a@example.com")
