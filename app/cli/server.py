"""`up` and `migrate`: the commands that are the service, not its clients."""

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
import uvicorn
from rich import get_console
from uvicorn.loops.auto import auto_loop_factory

from app.cli.invocation import invocation
from app.core import data_folder
from app.core.errors import BigGraphError
from app.core.logging import configure_logging
from app.core.settings import Settings
from app.demo.load import Demo, load_demo

console = get_console()
GRACE_SECONDS = 10


class CannotListen(BigGraphError):
    code = "cannot_listen"
    status = 500


def register(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(migrate)


def up(demo: Annotated[bool, typer.Option(help="Make the demo tenant and its documents.")] = False) -> None:
    """Starts the service: the API, and whatever of its engines is not a server. Ctrl-C stops all of it."""
    settings = Settings()
    configure_logging(settings.log_level, settings.log_format)
    if settings.worker_in_process:
        with data_folder.locked(settings.data_dir):  # tells of a second start at once, before the engines are imported
            pass
    listener = _listen(settings)
    # On uvloop, where it is installed: on asyncio's own loop a small document costs the process a fifth more time.
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(settings, listener, demo=demo or settings.demo))


def migrate() -> None:
    """Brings the database of DATABASE_OWNER_URL to the newest revision and grants the application its rights."""
    settings = Settings()
    owner, application = settings.database_owner_url.get_secret_value(), settings.database_url.get_secret_value()
    if not owner or not application:
        raise BigGraphError(
            "Set DATABASE_OWNER_URL and DATABASE_URL. The embedded database migrates itself at start.",
            code="nothing_to_migrate",
        )
    from app.core.schema import migrate as migrate_database  # noqa: PLC0415 - see `_serve`

    asyncio.run(migrate_database(owner, application))
    console.print("The database is at the newest revision.")


def _listen(settings: Settings) -> socket.socket:
    """Binds before anything is started, so that a taken port costs nothing."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise CannotListen(
                f"Port {settings.port} is taken. Stop what uses it, or set BIGGRAPH_PORT to another one."
            ) from error
        raise CannotListen(
            f"Can't listen on {settings.host}:{settings.port}: {error.strerror}. Check BIGGRAPH_HOST and BIGGRAPH_PORT."
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Leaves the signals to `_serve`: uvicorn would raise them again in the middle of the shutdown."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(settings: Settings, listener: socket.socket, *, demo: bool) -> None:
    # Imported here: the engines take seconds to import, which commands that are mere clients must not wait for. None of
    # it is garbage: looking for some meanwhile takes a fifth of the time, and later on it is passed over.
    gc.disable()
    from app.core.head_limit import HeadLimitProtocol  # noqa: PLC0415
    from app.main import create_app  # noqa: PLC0415

    app = create_app(settings)
    gc.freeze()
    gc.enable()
    host, port = listener.getsockname()[:2]
    url = settings.base_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    server = _Server(
        uvicorn.Config(
            app,
            http=HeadLimitProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )

    def stop() -> None:
        app.state.ready = False  # `/readyz` says so while what runs is finished
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    async with app.router.lifespan_context(app):
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await _announce(settings, server, url, demo=demo)
        finally:
            await serving
    console.print("Stopped.")


async def _announce(settings: Settings, server: uvicorn.Server, url: str, *, demo: bool) -> None:
    while not server.started and not server.should_exit:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.02)
    console.print(f"\n[bold]BigGraph runs at {url}[/bold]\n  API docs   {url}/docs\n  readiness  {url}/readyz")
    if demo and not server.should_exit:
        loaded = await load_demo(url, settings.data_dir)
        _tell_demo(loaded, url)
    console.print("Ctrl-C stops it.\n")


def _tell_demo(demo: Demo, url: str) -> None:
    command = invocation() if url.endswith(":8000") else f"BIGGRAPH_URL={url} {invocation()}"
    console.print(
        f"\n[bold]Demo[/bold]: knowledge base “{demo.knowledge_base}”, {demo.documents} documents\n"
        f"  login      {demo.email} / {demo.password}\n\n"
        "Try in another shell:\n"
        f"  {command} login --email {demo.email} --password {demo.password}\n"
        + "".join(f"  {command} {rest}\n" for rest in demo.commands),
        highlight=False,
        soft_wrap=True,
    )
