"""`/v1/tenant`, `/v1/members` and `/v1/invitations`."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1", tags=["tenants"])
