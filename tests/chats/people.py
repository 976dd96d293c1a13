"""People and documents for chats."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
from fastapi import FastAPI

from app.core.scope import Role, TenantScope
from app.ports.parts import Parts
from tests.conftest import Person
from tests.retrieval.shelf import Shelf

HANDBOOK = (
    "The office opens at nine in the morning. Employees get 25 days of annual leave each year. "
    "Leave that is left over expires at the end of March.",
    "Travel costs are paid back within two weeks. Receipts above 30 euros must be attached to the claim.",
    "Laptops are replaced every four years. The service desk answers at extension 4711.",
)
RULES = (
    "本公司员工每年享有二十五天带薪年假。未使用的年假将于次年三月底失效。",
    "差旅费用在两周内报销。超过三十欧元的收据必须附在报销单上。",
    "笔记本电脑每四年更换一次。服务台的分机号码是4711。",
)


def shelf_of(parts: Parts, person: Person) -> Shelf:
    return Shelf(parts, TenantScope(UUID(person.tenant_id), UUID(person.user_id), Role.OWNER))


@asynccontextmanager
async def colleague_of(platform: FastAPI, person: Person, email: str, role: str = "viewer") -> AsyncIterator[Person]:
    """Another person of the same tenant."""
    invitation = await person.client.post("/v1/invitations", json={"email": email, "role": role})
    assert invitation.status_code == 201, invitation.text
    transport = httpx.ASGITransport(platform, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:
        password = "quite a different horse"
        tokens = await client.post(
            "/v1/invitations/accept", json={"token": invitation.json()["token"], "password": password}
        )
        assert tokens.status_code == 201, tokens.text
        client.headers["authorization"] = f"Bearer {tokens.json()['access_token']}"
        me = (await client.get("/v1/auth/me")).json()
        yield Person(client, me["user"]["id"], me["tenant"]["id"], email, password)
