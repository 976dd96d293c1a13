"""A peer that speaks the part of Qdrant's REST interface which the adapter uses, on top of Qdrant Edge.

As strict as a server in strict mode: a filter on a field without a payload index is refused. It fails when told to:
`QdrantPeer.fault` for tests, `POST /_peer/faults` for anyone. Run by hand: `python -m tests.peers.qdrant --path DIR`.
"""

import argparse
import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import httpx
import qdrant_edge as edge
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

VERSION = "1.20.0"

Operation = Literal[
    "info", "exists", "get_collection", "create_collection", "create_index",
    "upsert", "delete", "set_payload", "query", "scroll", "*",
]  # fmt: skip
Kind = Literal["error", "error_after", "delay", "hang", "hang_after", "unconfirmed"]


@dataclass
class Fault:
    """What happens to the next `times` calls of an operation, after the first `skip`.

    `error` answers `status` and does nothing; `error_after` does it all the same; `delay` waits `seconds` first; `hang`
    never answers, having done nothing, `hang_after` having done it; `unconfirmed` does it and says that it may not be.
    """

    operation: Operation
    kind: Kind
    times: int = 1
    skip: int = 0
    status: int = 500
    seconds: float = 0.0
    retry_after: int | None = None


class Refused(Exception):
    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class Collection:
    """A shard and what the collection was created with, both in `folder`."""

    def __init__(self, folder: Path, config: dict[str, Any] | None = None) -> None:
        record = folder / "collection.json"
        shard = str(folder / "shard")
        if config is None:
            self.config: dict[str, Any] = json.loads(record.read_text())
            self.shard = edge.EdgeShard.load(shard)
        else:
            self.config = config
            vectors = config["vectors"]
            params = edge.EdgeVectorParams(size=vectors["size"], distance=getattr(edge.Distance, vectors["distance"]))
            (folder / "shard").mkdir(parents=True)
            self.shard = edge.EdgeShard.create(shard, edge.EdgeConfig(vectors=params))
            record.write_text(json.dumps(config))

    @property
    def indexes(self) -> dict[str, str]:
        return {
            field: repr(info.data_type).rpartition(".")[2].lower()
            for field, info in self.shard.info().payload_schema.items()
        }

    def describe(self) -> dict[str, Any]:
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000} | self.config.get("hnsw_config", {})
        optimizer = {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "points_count": self.shard.info().points_count,
            "config": {
                "params": {"vectors": self.config["vectors"]},
                "hnsw_config": hnsw,
                "optimizer_config": optimizer | {"flush_interval_sec": 5},
            },
            "payload_schema": {
                field: {"data_type": kind, "points": self.shard.info().points_count}
                for field, kind in self.indexes.items()
            },
        }

    def create_index(self, body: dict[str, Any]) -> None:
        schema = body["field_schema"]
        options = dict(schema) if isinstance(schema, dict) else {"type": schema}
        params = getattr(edge, options.pop("type").capitalize() + "IndexParams")
        self.shard.update(edge.UpdateOperation.create_field_index(body["field_name"], params(**options)))

    def upsert(self, body: dict[str, Any]) -> None:
        points = [edge.Point(point["id"], point["vector"], point.get("payload")) for point in body["points"]]
        self.shard.update(edge.UpdateOperation.upsert_points(points))

    def delete(self, body: dict[str, Any]) -> None:
        if "points" in body:
            self.shard.update(edge.UpdateOperation.delete_points(body["points"]))
        else:
            self.shard.update(edge.UpdateOperation.delete_points_by_filter(self.filter(body)))

    def set_payload(self, body: dict[str, Any]) -> None:
        if "points" in body:  # a point that does not exist is an error here: 404
            self.shard.update(edge.UpdateOperation.set_payload(body["points"], body["payload"]))
        else:
            self.shard.update(edge.UpdateOperation.set_payload_by_filter(self.filter(body), body["payload"]))

    def query(self, body: dict[str, Any]) -> dict[str, Any]:
        request = edge.QueryRequest(
            query=edge.Query.Nearest(body["query"]["nearest"]),
            filter=self.filter(body),
            limit=body.get("limit", 10),
            with_payload=body.get("with_payload"),
        )
        hits = self.shard.query(request)
        return {
            "points": [
                {"id": str(hit.id), "version": hit.version, "score": hit.score, "payload": hit.payload} for hit in hits
            ]
        }

    def scroll(self, body: dict[str, Any]) -> dict[str, Any]:
        request = edge.ScrollRequest(
            filter=self.filter(body),
            limit=body.get("limit", 10),
            offset=body.get("offset"),
            with_payload=body.get("with_payload"),
        )
        records, following = self.shard.scroll(request)
        points = [{"id": str(record.id), "payload": record.payload} for record in records]
        return {"points": points, "next_page_offset": None if following is None else str(following)}

    def filter(self, body: dict[str, Any]) -> edge.Filter:
        given = body.get("filter") or {}
        if unknown := given.keys() - {"must", "must_not"}:
            raise Refused(400, f"this peer knows no {unknown} in filters")
        must, must_not = ([self._condition(one) for one in given.get(clause, [])] for clause in ("must", "must_not"))
        return edge.Filter(must=must or None, must_not=must_not or None)

    def _condition(self, given: dict[str, Any]) -> "edge.ConditionType":
        if "has_id" in given:
            return edge.HasIdCondition(set(given["has_id"]))
        key = given["key"]
        if key not in self.indexes:
            raise Refused(400, f'Index required but not found for "{key}"')
        if "range" in given:
            return edge.FieldCondition(key, range=edge.RangeDateTime(**given["range"]))
        match given["match"]:
            case {"value": value}:
                return edge.FieldCondition(key, match=edge.MatchValue(value))
            case {"any": values}:
                return edge.FieldCondition(key, match=edge.MatchAny(values))
            case other:
                raise Refused(400, f"this peer knows no match {other}")


class Server:
    """Collections in a folder, and the faults that are left. One call at a time: the engine holds the interpreter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[Fault] = []
        self.calls: Counter[str] = Counter()
        self.collections = {record.parent.name: Collection(record.parent) for record in path.glob("*/collection.json")}

    def application(self) -> Starlette:
        one = "/collections/{name}"
        return Starlette(
            routes=[
                Route("/_peer/faults", self.set_faults, methods=["POST", "DELETE"]),
                Route("/_peer/calls", self.get_calls),
                self.route("/", "GET", "info", self.info),
                self.route(one, "GET", "get_collection", lambda name, _: self.named(name).describe()),
                self.route(one, "PUT", "create_collection", self.create),
                self.route(one, "DELETE", "*", self.drop),
                self.route(f"{one}/exists", "GET", "exists", lambda name, _: {"exists": name in self.collections}),
                self.route(f"{one}/index", "PUT", "create_index", self.write(Collection.create_index)),
                self.route(f"{one}/points", "PUT", "upsert", self.write(Collection.upsert)),
                self.route(f"{one}/points/delete", "POST", "delete", self.write(Collection.delete)),
                self.route(f"{one}/points/payload", "POST", "set_payload", self.write(Collection.set_payload)),
                self.route(f"{one}/points/query", "POST", "query", lambda name, body: self.named(name).query(body)),
                self.route(f"{one}/points/scroll", "POST", "scroll", lambda name, body: self.named(name).scroll(body)),
            ]
        )

    def named(self, name: str) -> Collection:
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def info(self, _name: str, _body: dict[str, Any]) -> dict[str, Any]:
        return {"title": "peer of Qdrant", "version": VERSION}

    def create(self, name: str, body: dict[str, Any]) -> bool:
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        self.collections[name] = Collection(self.path / name, body)
        return True

    def drop(self, name: str, _body: dict[str, Any]) -> bool:
        if name in self.collections:
            self.collections.pop(name).shard.close()
            (self.path / name / "collection.json").unlink()
            (self.path / name).rename(self.path / f"dropped-{name}-{self.calls.total()}")
        return True

    def write(self, apply: Callable[[Collection, dict[str, Any]], None]) -> Callable[[str, dict[str, Any]], Any]:
        def answer(name: str, body: dict[str, Any]) -> dict[str, Any]:
            apply(self.named(name), body)
            return {"operation_id": self.calls.total(), "status": "completed"}

        return answer

    def route(self, path: str, method: str, operation: Operation, answer: Callable[[str, Any], Any]) -> Route:
        async def endpoint(request: Request) -> Response:
            self.calls[operation] += 1
            content = await request.body()
            fault = self.due(operation)
            return await self.respond(
                fault, lambda: answer(request.path_params.get("name", ""), json.loads(content or b"{}"))
            )

        return Route(path, endpoint, methods=[method])

    async def respond(self, fault: Fault | None, work: Callable[[], Any]) -> Response:
        kind = fault.kind if fault else None
        if fault and kind == "error":
            return failure(fault.status, "as told", fault.retry_after)
        if fault and kind == "delay":
            await asyncio.sleep(fault.seconds)
        if kind == "hang":
            await asyncio.Event().wait()
        try:
            result = work()
        except Refused as refused:
            return failure(refused.status, str(refused))
        except Exception as error:  # noqa: BLE001 - the engine's binding raises nothing narrower
            return failure(404 if "No point with id" in str(error) else 400, str(error))
        if fault and kind == "error_after":
            return failure(fault.status, "as told, after it was done", fault.retry_after)
        if kind == "hang_after":
            await asyncio.Event().wait()
        if kind == "unconfirmed":
            result["status"] = "wait_timeout"
        if isinstance(result, dict) and "version" in result:
            return JSONResponse(result)
        return JSONResponse({"result": result, "status": "ok", "time": 0.0})

    def due(self, operation: Operation) -> Fault | None:
        for fault in self.faults:
            if fault.operation in (operation, "*") and fault.times > 0:
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    async def set_faults(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.faults.clear()
            self.calls.clear()
        else:
            self.faults.append(Fault(**await request.json()))
        return JSONResponse([asdict(fault) for fault in self.faults])

    async def get_calls(self, _request: Request) -> Response:
        return JSONResponse(dict(self.calls))


def failure(status: int, error: str, retry_after: int | None = None) -> Response:
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    return JSONResponse({"status": {"error": error}, "time": 0.0}, status, headers)


class QdrantPeer:
    """A peer in a process of its own, and the way to tell it to fail. Its data stay in the folder when it stops."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url
        self._control = httpx.Client(base_url=url)

    @classmethod
    def start(cls, path: Path, port: int = 0) -> Self:
        command = [sys.executable, "-m", "tests.peers.qdrant", "--path", str(path), "--port", str(port)]
        root = Path(__file__).resolve().parents[2]
        process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the peer ended before it listened"
        return cls(process, url)

    def fault(self, operation: Operation, kind: Kind, **options: Any) -> None:
        fault = Fault(operation, kind, **options)
        self._control.post("/_peer/faults", json=asdict(fault)).raise_for_status()

    def reset(self) -> None:
        """Forgets faults and counted calls."""
        self._control.delete("/_peer/faults").raise_for_status()

    def calls(self) -> dict[str, int]:
        counted: dict[str, int] = self._control.get("/_peer/calls").json()
        return counted

    def drop(self, collection: str) -> None:
        self._control.delete(f"/collections/{collection}").raise_for_status()

    def stop(self) -> None:
        self._control.close()
        self.process.kill()  # what it acknowledged is in its log
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def running_peer(path: Path) -> Iterator[QdrantPeer]:
    peer = QdrantPeer.start(path)
    try:
        yield peer
    finally:
        peer.stop()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=0, help="0 takes a free one; the URL is printed")
    options.add_argument("--path", type=Path, required=True, help="folder of the collections")
    chosen = options.parse_args()
    chosen.path.mkdir(parents=True, exist_ok=True)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", chosen.port))
        listener.listen()
        application = Server(chosen.path).application()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(application, log_level="warning", timeout_graceful_shutdown=1)
        asyncio.run(uvicorn.Server(config).serve([listener]))


if __name__ == "__main__":
    main()
