"""`POST /v1/retrieve`."""

from fastapi import APIRouter

from app.identity.access import PartsDep, Viewer
from app.retrieval.schemas import RetrievalResult, RetrieveRequest
from app.retrieval.service import Retriever

router = APIRouter(tags=["retrieval"])


@router.post("/v1/retrieve")
async def retrieve(body: RetrieveRequest, scope: Viewer, parts: PartsDep) -> RetrievalResult:
    """The chunks that answer a question, best first, with every score and rank.

    Where one of the two indexes is down the other answers alone and `degraded` says so; where both are, 503. Where a
    reranker is configured it has the last word on the order, or `degraded` names it.
    """
    return await Retriever(parts).retrieve(scope, body)
