"""`verify` and `repair`: through the API for your own tenant, or over all tenants where the engines can be opened."""

import asyncio
from typing import Annotated, Any, Literal

import typer
from rich import print as show
from rich.markup import escape
from rich.table import Table

from app.cli.client import open_api
from app.core.scope import PrincipalKind, Role, TenantScope
from app.core.settings import Settings

AllTenants = Annotated[
    bool, typer.Option("--all", help="Every tenant, without the API: for servers, or while nothing embedded runs.")
]

_COUNTS = ("wanted", "found", "missing", "orphaned")


def register(app: typer.Typer) -> None:
    app.command()(verify)
    app.command()(repair)


def verify(all_tenants: AllTenants = False) -> None:
    """Compares what the three stores hold. Exit code 1 where they differ."""
    reports = asyncio.run(_each_tenant("verify")) if all_tenants else [_call("GET", "/v1/consistency")]
    _tell(reports)
    if not all(report["clean"] for report in reports):
        raise typer.Exit(1)


def repair(all_tenants: AllTenants = False) -> None:
    """Mends what differs, and tells what was found."""
    _tell(asyncio.run(_each_tenant("repair")) if all_tenants else [_call("POST", "/v1/consistency:repair")])


def _call(method: str, path: str) -> dict[str, Any]:
    with open_api() as api:
        answer: dict[str, Any] = api.call(method, path)
        return answer


async def _each_tenant(what: Literal["verify", "repair"]) -> list[dict[str, Any]]:
    # Imported here: the engines take a second to import, which commands that are mere clients must not wait for.
    from app.ingestion import reconciler  # noqa: PLC0415
    from app.ingestion.schemas import Consistency  # noqa: PLC0415
    from app.runtime import open_parts  # noqa: PLC0415

    check = reconciler.verify if what == "verify" else reconciler.repair
    reports = []
    async with open_parts(Settings()) as parts:
        for tenant_id in await reconciler.tenant_ids(parts):
            scope = TenantScope(tenant_id, tenant_id, Role.OWNER, PrincipalKind.JOB)
            report = Consistency.of(await check(parts, scope)).model_dump(mode="json")
            reports.append({"tenant": str(tenant_id), **report})
    return reports


def _tell(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        table = Table("", *_COUNTS, title=report.get("tenant"), title_justify="left")
        for index in ("vectors", "terms"):
            table.add_row(index, *(str(report[index][count]) for count in _COUNTS))
        table.add_row("originals", "", "", str(len(report["blobs_missing"])), str(report["blobs_orphaned"]))
        show(table)
        for key in report["blobs_missing"]:
            show(escape(f"Lost, to be uploaded again: {key}"))
        for document_id in report["unpurged_documents"]:
            show(f"Not purged: document {document_id}")
    clean = sum(report["clean"] for report in reports)
    show(f"{clean} of {len(reports)} tenants clean.")
