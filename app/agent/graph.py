"""The answering graph:

    retrieve ─┬─ generate ─┬─ verify
              ├─ extract ──┤        generate goes on to extract when no model gave anything
              └─ decline ──┘

A model is asked where one is configured and something was found that may be relevant, or the conversation so far may
hold the answer. Without a model the best sentences answer. Where nothing relevant was found, that is the answer.
"""

from functools import cache

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from app.agent.nodes.extract import decline, extract
from app.agent.nodes.generate import generate
from app.agent.nodes.retrieve import retrieve
from app.agent.nodes.verify import verify
from app.agent.relevance import Relevance
from app.agent.state import AgentState, Turn

AnsweringGraph = CompiledStateGraph[AgentState, Turn, AgentState, AgentState]


def answering_graph(checkpointer: BaseCheckpointSaver[str] | None = None) -> AnsweringGraph:
    """The graph for one run. Compiling takes some ten milliseconds, so that is done once and the result copied."""
    compiled = _compiled()
    return compiled if checkpointer is None else compiled.copy({"checkpointer": checkpointer})


@cache
def _compiled() -> AnsweringGraph:
    graph = StateGraph(AgentState, context_schema=Turn)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", generate)
    graph.add_node("extract", extract)
    graph.add_node("decline", decline)
    graph.add_node("verify", verify)
    graph.add_edge(START, "retrieve")
    graph.add_conditional_edges("retrieve", after_retrieval, ["generate", "extract", "decline"])
    graph.add_conditional_edges("generate", after_generation, ["extract", "verify"])
    graph.add_edge("extract", "verify")
    graph.add_edge("decline", "verify")
    graph.add_edge("verify", END)
    return graph.compile()


def after_retrieval(state: AgentState, runtime: Runtime[Turn]) -> str:
    turn = runtime.context
    if turn.parts.chat_models.names:
        return "generate" if state["relevance"] != Relevance.NONE or turn.history else "decline"
    return "extract" if state["relevance"] != Relevance.NONE else "decline"


def after_generation(state: AgentState) -> str:
    return "verify" if state["kind"] else "extract"
