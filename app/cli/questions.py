"""`search`, `ask`, `chat`."""

from typing import Annotated, Any

import typer
from rich import get_console
from rich.markup import escape

from app.cli.client import Api, find_knowledge_base, no_documents, open_api
from app.cli.invocation import invocation

console = get_console()
KbNames = Annotated[list[str] | None, typer.Option("--kb", help="Name or id; may be repeated. Default: all.")]


def register(app: typer.Typer) -> None:
    app.command()(search)
    app.command()(ask)
    app.command()(chat)


def _ids(api: Api, names: list[str] | None) -> list[str]:
    return [find_knowledge_base(api, name)["id"] for name in names or []]


def _without_documents(api: Api, kb_ids: list[str]) -> str | None:
    """What to say where nothing can be found, because no document is there; None where one is."""
    asked = kb_ids or [kb["id"] for kb in api.pages("/v1/knowledge-bases")]
    kb: dict[str, Any] | None = None
    for kb_id in asked:
        kb = api.call("GET", f"/v1/knowledge-bases/{kb_id}")
        if kb is not None and kb["document_count"]:
            return None
    return no_documents(kb) if kb else f"There is no knowledge base yet. `{invocation()} kb create NAME` makes one."


def search(query: str, kb: KbNames = None, top_k: int = 5, mode: str = "hybrid") -> None:
    """Finds passages."""
    with open_api() as api:
        body = {"query": query, "knowledge_base_ids": _ids(api, kb), "top_k": top_k, "mode": mode}
        found = api.call("POST", "/v1/retrieve", json=body)
    for number, hit in enumerate(found["hits"], 1):
        scores = ", ".join(f"{name} {value:.3f}" for name, value in hit["scores"].items() if value is not None)
        console.print(f"[bold]{number}. {escape(_place(hit))}[/bold]  [dim]{scores}[/dim]", highlight=False)
        console.print(f"{hit['text'][:400]}\n", highlight=False, markup=False)
    _show_degraded(found)
    console.print(f"[dim]{len(found['hits'])} passages in {found['took_ms']['total']:.0f} ms[/dim]")


def ask(question: str, kb: KbNames = None) -> None:
    """Asks one question and shows the answer with its sources."""
    with open_api() as api:
        kb_ids = _ids(api, kb)
        answer = api.call("POST", "/v1/ask", json={"question": question, "knowledge_base_ids": kb_ids})
        missing = _without_documents(api, kb_ids) if answer["notice"] == "not_found" else None
    console.print(missing or answer["answer"], highlight=False, markup=False)
    _show_citations(answer["citations"])
    _show_degraded(answer)


def chat(kb: KbNames = None) -> None:
    """Talks in a session, until an empty line or Ctrl-D."""
    with open_api() as api:
        session = api.call("POST", "/v1/sessions", json={"knowledge_base_ids": _ids(api, kb)})
        while question := _asked():
            citations = []
            with api.events(f"/v1/sessions/{session['id']}/messages", {"question": question}) as events:
                for event in events:
                    if event["type"] == "delta":
                        console.print(event["text"], end="", highlight=False, markup=False)
                    elif event["type"] == "citation":
                        citations.append(event)
                    elif event["type"] == "error":
                        console.print(f"[red]{escape(event['detail'])}[/red]")
            console.print()
            _show_citations(citations)


def _asked() -> str:
    """The next question; empty at the end."""
    try:
        return console.input("[bold]> [/bold]").strip()
    except EOFError:  # Ctrl-D
        console.print()
        return ""


def _show_degraded(answer: dict[str, Any]) -> None:
    """Names what failed or was late while the answer was made."""
    if answer["degraded"]:
        console.print(f"[yellow]Without: {', '.join(answer['degraded'])}[/yellow]")


def _place(source: dict[str, Any]) -> str:
    page = f", page {source['page']}" if source.get("page") else ""
    headings = " > ".join(source.get("heading_path") or [])
    return f"{source['document_name']}{page}" + (f" ({headings})" if headings else "")


def _show_citations(citations: list[dict[str, Any]]) -> None:
    places = {citation["number"]: _place(citation) for citation in citations}  # one passage may be quoted twice
    for number, place in places.items():
        console.print(f"[dim]\\[{number}] {escape(place)}[/dim]", highlight=False)
