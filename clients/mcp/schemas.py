"""The tools that every broker has: names, what a language model is told of them, and the schemas of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.types import Tool, ToolAnnotations

if TYPE_CHECKING:
    from .limits import Limits

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_TERMS = 'Terms are in SPARQL notation: <iri>, "text", "text"@en, 42, "2026-01-01"^^<datatype>, _:blank; null is unbound.'
_ID = "The id that `subscribe` gave, or its resource URI."


def text(description: str, **more: Any) -> dict[str, Any]:
    """The schema of a text."""
    return {"type": "string", "description": description, **more}


def tool(name: str, title: str, description: str, properties: dict[str, Any], *required: str) -> Tool:
    """A tool that changes nothing in the dataset."""
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema(properties, required),
        annotations=READS,
    )


def schema(properties: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """The schema of a tool's arguments, and of no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def rows(limits: Limits) -> dict[str, Any]:
    """The argument `limit`."""
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.rows,
        "default": limits.rows,
        "description": "The most rows to give; what is left out is counted and said.",
    }


def base_tools(limits: Limits, *, read_only: bool) -> list[Tool]:
    """The tools, without `update` where nothing may be changed."""
    tools = [_query(limits), *_subscriptions(limits), _explain(), *_streams(limits)]
    return tools if read_only else [*tools, _update()]


def _query(limits: Limits) -> Tool:
    return tool(
        "query",
        "Ask a SPARQL query",
        "Ask the broker's RDF dataset a SPARQL 1.1 query: SELECT, ASK, CONSTRUCT or DESCRIBE. To learn what there is, "
        "try SELECT ?type (COUNT(?s) AS ?n) WHERE { ?s a ?type } GROUP BY ?type, and the same with GRAPH ?g { ... } for "
        f"named graphs. {_TERMS}",
        {"sparql": text("The whole query, with its PREFIX declarations."), "limit": rows(limits)},
        "sparql",
    )


def _update() -> Tool:
    return Tool(
        name="update",
        title="Make a SPARQL update",
        description="Change the broker's RDF dataset by a SPARQL 1.1 Update, all or nothing: INSERT DATA, DELETE DATA, "
        "DELETE/INSERT WHERE, CLEAR and so on. Every subscriber hears what it changes. To replace a value use "
        "DELETE { ?s ?p ?old } INSERT { ?s ?p ?new } WHERE { ... }.",
        input_schema=schema({"sparql": text("The whole update, with its PREFIX declarations.")}, ("sparql",)),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
        ),
    )


def _subscriptions(limits: Limits) -> list[Tool]:
    return [
        tool(
            "subscribe",
            "Follow the answer to a query",
            "Follow the answer to a SPARQL query: gives the answer now, an id and a resource URI. When an update changes "
            "the answer, the resource is updated; reading it, or the tool `read_subscription`, tells which rows were "
            f"added and which removed. {_TERMS}",
            {"sparql": text("A SELECT, ASK or CONSTRUCT query."), "limit": rows(limits)},
            "sparql",
        ),
        tool(
            "read_subscription",
            "What has changed in a followed answer",
            "The rows that were added to and removed from a followed answer since it was last read, and the answer as "
            "it is now. `gap` tells of changes that are no longer kept. With wait_s it waits for the next change.",
            {
                "subscription": text(_ID),
                "since": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Begin behind the change of this number instead of behind the last reading.",
                },
                "wait_s": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": limits.wait_s,
                    "default": 0,
                    "description": "If nothing has changed, wait so many seconds for a change.",
                },
                "limit": rows(limits),
            },
            "subscription",
        ),
        tool(
            "unsubscribe",
            "Follow an answer no longer",
            "End a subscription. Its resource is gone by that.",
            {"subscription": text(_ID)},
            "subscription",
        ),
    ]


def _explain() -> Tool:
    return tool(
        "explain",
        "How a query would be followed",
        "Tell how the broker would follow the answer to a query if it were subscribed to, how costly that is, and which "
        "changes would touch it. It asks nobody: what can't be understood is followed by evaluating it whole.",
        {"sparql": text("A SPARQL query.")},
        "sparql",
    )


def _streams(limits: Limits) -> list[Tool]:
    return [
        tool(
            "list_streams",
            "List the event streams",
            "The broker's event streams: their names, how many items a second come, and how many are kept.",
            {},
        ),
        tool(
            "read_stream",
            "The last items of a stream",
            "The newest items of an event stream that the broker keeps, oldest first; with last_seen those that came "
            "behind that item. An item has headers, as Event-Id and Timestamp, and a Body.",
            {
                "stream": text("The stream's name, as `list_streams` gives it.", minLength=1),
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": limits.items,
                    "default": min(10, limits.items),
                    "description": "The most items to give.",
                },
                "last_seen": text("The Event-Id of the last item that is known."),
            },
            "stream",
        ),
    ]
