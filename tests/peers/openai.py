"""An OpenAI-compatible server on the loopback, with scripted answers and faults: what plays models in tests.

    with running_peer() as peer:                      # a real socket, in a thread of its own
        models = OpenAIChatModels(peer.url, ["small", "large"])
        peer.say("Hello [1].", usage=(12, 4))         # the next chat answer; more calls queue more
        peer.reply = lambda body: "echo " + body["messages"][-1]["content"]   # what to say when nothing is queued
        peer.fail("chat", Fault(status=429, retry_after="1"), model="small")  # the next call of that model
        peer.fail("embeddings", Fault(wrong_count=True), times=2)
        peer.requests("chat")[-1]["messages"]         # what was asked, by route
        peer.wait_for("chat", 3)                      # blocks until three calls came (use a thread in async tests)

Routes: `chat` (streamed and not, with usage), `models`, `embeddings`, `rerank` (in Jina's form at `/v1/rerank`, and in
that of Text Embeddings Inference, with its limit of 32 texts, at `/rerank`: `peer.tei_url`). Embeddings are made of the
words of a text (and the characters of Chinese ones), so that texts which share words lie close; scores of `rerank` are
the share of the query's words that a passage has. Replace `peer.embed` or `peer.score` for other ones.
"""

import asyncio
import hashlib
import json
import re
import socket
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route as StarletteRoute

Route = Literal["chat", "models", "embeddings", "rerank"]
Body = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one call. Fields are independent; the first that ends the call wins."""

    delay: float = 0.0
    """Seconds before anything else happens."""
    hang: bool = False
    """No answer until the client leaves or the peer stops."""
    status: int = 0
    """Answer with this status instead; 0 leaves it."""
    retry_after: str | None = None
    """Header of that answer: seconds or an HTTP date."""
    text: str | None = None
    """This instead of JSON, with status 200."""
    undecodable: bool = False
    """The answer says that it is compressed, and is not."""
    break_after: int | None = None
    """The connection is cut after so many pieces of a stream (of an answer that is not streamed: before it)."""
    end_after: int | None = None
    """The stream ends in good order after so many pieces, without a finish reason."""
    wrong_count: bool = False
    """One vector or score is missing."""


@dataclass(frozen=True)
class Reply:
    pieces: tuple[str, ...]
    usage: tuple[int, int] | None = None
    """Prompt and completion tokens; None: none is told."""


class OpenAIPeer:
    """The script of a peer and the record of what it was asked. Safe to change while it runs."""

    def __init__(self, models: tuple[str, ...], dimensions: int) -> None:
        self.url = ""
        """Base of the API, ending in `/v1`."""
        self.tei_url = ""
        """The endpoint of Text Embeddings Inference."""
        self.models = models
        self.dimensions = dimensions
        self.api_key = ""
        """Where set, calls without it are refused with 401."""
        self.reply: Callable[[Body], str] = lambda body: f"You said: {body['messages'][-1]['content']}"
        self.embed: Callable[[str], list[float]] = self._words_vector
        self.score: Callable[[str, str], float] = _shared_words
        self._replies: deque[Reply] = deque()
        self._faults: defaultdict[Route, list[tuple[str | None, Fault]]] = defaultdict(list)
        self._requests: defaultdict[Route, list[Body]] = defaultdict(list)
        self._called = threading.Condition()
        self.release = asyncio.Event()
        """Ends hanging calls; set when the peer stops. Only for the peer's own loop."""

    def say(self, *pieces: str, usage: tuple[int, int] | None = (10, 5)) -> None:
        """Queues an answer; several pieces are streamed as they are, one is split at its words."""
        split = pieces if len(pieces) > 1 else tuple(re.findall(r"\S+\s*|\s+", pieces[0]))
        self._replies.append(Reply(split, usage))

    def fail(self, route: Route, fault: Fault, *, model: str | None = None, times: int = 1) -> None:
        """Queues a fault for the next calls of a route, or of one model on it."""
        self._faults[route] += [(model, fault)] * times

    def requests(self, route: Route) -> list[Body]:
        """Bodies of all calls of a route, failed ones too, in order. `models` has empty ones."""
        return list(self._requests[route])

    def wait_for(self, route: Route, count: int, timeout_seconds: float = 30.0) -> None:
        """Returns when a route has been called so often since the last `reset`; raises `TimeoutError`."""
        with self._called:
            if not self._called.wait_for(lambda: len(self._requests[route]) >= count, timeout_seconds):
                raise TimeoutError(f"{len(self._requests[route])} of {count} calls of {route}.")

    def reset(self) -> None:
        """Forgets what was queued and asked; `reply`, `embed` and `score` stay."""
        self._replies.clear()
        self._faults.clear()
        self._requests.clear()

    def note(self, route: Route, body: Body) -> Fault:
        """Records a call and takes its fault, if one is queued for it."""
        with self._called:
            self._requests[route].append(body)
            self._called.notify_all()
        queued = self._faults[route]
        for index, (model, fault) in enumerate(queued):
            if model is None or model == body.get("model"):
                del queued[index]
                return fault
        return Fault()

    def next_reply(self, body: Body) -> Reply:
        if self._replies:
            return self._replies.popleft()
        return Reply(tuple(re.findall(r"\S+\s*|\s+", self.reply(body))), (10, 5))

    def _words_vector(self, text: str) -> list[float]:
        vector = np.full(self.dimensions, 1e-3)
        for word in _words(text):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
            vector += np.random.default_rng(seed).normal(size=self.dimensions)
        values: list[float] = vector.tolist()
        return values


@contextmanager
def running_peer(models: tuple[str, ...] = ("small", "large"), dimensions: int = 16) -> Iterator[OpenAIPeer]:
    """A peer on a free port of the loopback until the block ends."""
    peer = OpenAIPeer(models, dimensions)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        peer.url, peer.tei_url = f"{base}/v1", f"{base}/rerank"
        config = uvicorn.Config(
            _application(peer),
            log_level="critical",
            log_config=None,
            lifespan="off",
            ws="none",
            http="h11",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        loops: list[asyncio.AbstractEventLoop] = []

        async def serve() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve(sockets=[listener])

        thread = threading.Thread(target=asyncio.run, args=(serve(),), name="openai-peer")
        thread.start()
        try:
            yield peer
        finally:
            server.should_exit = True
            if loops:
                loops[0].call_soon_threadsafe(peer.release.set)
            thread.join()


Answer = Callable[[OpenAIPeer, Body, Fault], Response]


def _application(peer: OpenAIPeer) -> Starlette:
    return Starlette(
        routes=[
            _route(peer, "chat", "/v1/chat/completions", "POST", _chat),
            _route(peer, "models", "/v1/models", "GET", _models),
            _route(peer, "embeddings", "/v1/embeddings", "POST", _embeddings),
            _route(peer, "rerank", "/v1/rerank", "POST", _rerank),
            _route(peer, "rerank", "/rerank", "POST", _rerank_as_tei),
        ]
    )


def _route(peer: OpenAIPeer, route: Route, path: str, method: str, answer: Answer) -> StarletteRoute:
    async def endpoint(request: Request) -> Response:
        body: Body = await request.json() if method == "POST" else {}
        fault = peer.note(route, body)
        await asyncio.sleep(fault.delay)
        if peer.api_key and request.headers.get("Authorization") != f"Bearer {peer.api_key}":
            return _error(401, "Incorrect API key provided.")
        if fault.hang:
            await peer.release.wait()
            return _error(503, "The peer stops.")
        if fault.status:
            headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
            return _error(fault.status, "A fault that was asked for.", headers)
        if fault.undecodable:
            return Response("{}", headers={"Content-Encoding": "gzip"})
        if fault.text is not None:
            return Response(fault.text, media_type="text/html")
        return answer(peer, body, fault)

    return StarletteRoute(path, endpoint, methods=[method])


def _chat(peer: OpenAIPeer, body: Body, fault: Fault) -> Response:
    if body["model"] not in peer.models:
        return _error(404, f"The model {body['model']!r} does not exist.")
    reply = peer.next_reply(body)
    if body.get("stream"):
        return StreamingResponse(_stream(body, reply, fault), media_type="text/event-stream")
    return _broken(fault) or JSONResponse(_completion(body, reply))


def _models(peer: OpenAIPeer, _: Body, __: Fault) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"} for name in peer.models]})


def _embeddings(peer: OpenAIPeer, body: Body, fault: Fault) -> Response:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    if not texts or not all(texts):
        return _error(400, "The input must not be empty.")
    data = [{"object": "embedding", "index": i, "embedding": peer.embed(text)} for i, text in enumerate(texts)]
    data.reverse()  # servers promise indices, not an order
    usage = {"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))}
    answer = {"object": "list", "model": body["model"], "data": data[fault.wrong_count :], "usage": usage}
    return _broken(fault) or JSONResponse(answer)


def _rerank(peer: OpenAIPeer, body: Body, fault: Fault) -> Response:
    if unknown := body.keys() - {"model", "query", "documents"}:
        return _error(400, f"Argument {unknown.pop()!r} is not supported by our API")  # as Voyage says
    scores = [peer.score(body["query"], passage) for passage in body["documents"]]
    results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)]
    results.sort(key=lambda result: -result["relevance_score"])
    return _broken(fault) or JSONResponse({"model": body.get("model"), "results": results[fault.wrong_count :]})


def _rerank_as_tei(peer: OpenAIPeer, body: Body, fault: Fault) -> Response:
    if len(body["texts"]) > 32:
        return _error(422, "batch size > maximum allowed batch size 32")
    results = [{"index": index, "score": peer.score(body["query"], text)} for index, text in enumerate(body["texts"])]
    results.sort(key=lambda result: -result["score"])
    return _broken(fault) or JSONResponse(results[fault.wrong_count :])


def _completion(body: Body, reply: Reply) -> Body:
    message = {"role": "assistant", "content": "".join(reply.pieces)}
    answer = _envelope(body, "chat.completion", [{"index": 0, "message": message, "finish_reason": "stop"}])
    return answer | ({} if reply.usage is None else {"usage": _usage(reply.usage)})


async def _stream(body: Body, reply: Reply, fault: Fault) -> AsyncIterator[str]:
    for number, piece in enumerate(reply.pieces):
        if number == fault.break_after:
            raise ConnectionAbortedError("A fault that was asked for.")
        if number == fault.end_after:
            return
        delta = {"role": "assistant", "content": piece}
        yield _event(_envelope(body, "chat.completion.chunk", [{"index": 0, "delta": delta, "finish_reason": None}]))
    yield _event(_envelope(body, "chat.completion.chunk", [{"index": 0, "delta": {}, "finish_reason": "stop"}]))
    if reply.usage is not None and body.get("stream_options", {}).get("include_usage"):
        yield _event(_envelope(body, "chat.completion.chunk", []) | {"usage": _usage(reply.usage)})
    yield "data: [DONE]\n\n"


def _envelope(body: Body, kind: str, choices: list[Body]) -> Body:
    return {"id": "chatcmpl-peer", "object": kind, "created": 0, "model": body["model"], "choices": choices}


def _event(content: Body) -> str:
    return f"data: {json.dumps(content)}\n\n"


def _usage(usage: tuple[int, int]) -> Body:
    prompt, completion = usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": message, "type": "peer"}}, status, headers)


def _broken(fault: Fault) -> Response | None:
    """A response whose body never comes, for answers that are not streamed."""
    if fault.break_after is None:
        return None

    async def nothing() -> AsyncIterator[str]:
        raise ConnectionAbortedError("A fault that was asked for.")
        yield ""

    return StreamingResponse(nothing(), media_type="application/json")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


def _shared_words(query: str, passage: str) -> float:
    asked = set(_words(query))
    return len(asked & set(_words(passage))) / max(1, len(asked))
