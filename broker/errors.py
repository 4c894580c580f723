"""What can go wrong, as classes; each holds the code, the HTTP status and the sentence that the sender is told.

::

    BrokerError                      code, status, description
      RequestError                   the sender's doing: 4xx, logged without a traceback
        MalformedRequest         400
        SparqlSyntaxError        400  line, column where Oxigraph tells them
        UnsupportedOperation     400  well-formed, but refused by a setting
        QueryTooComplex          400  would endanger the process: too deep, too long a chain, too many joins
        Unauthorized             401  no token, or one that is not good; `challenge` for WWW-Authenticate
        Forbidden                403  the token is good, but not for that
        GraphNotFound            404
        NotFound                 404
        MethodNotAllowed         405  allow
        NotAcceptable            406
        Conflict                 409
        Gone                     410
        RequestTooLarge          413
        UnsupportedMediaType     415
        UnknownSubscription      500  SEPA's own status for it
      Overloaded                     come back later: Retry-After
        TooManyRequests          429
        DeadlineExceeded         504
        ShuttingDown             503
      EngineError                500  ours: logged with a traceback
        StoreError               500
        EndpointError            502  the remote SPARQL endpoint refused or is away
        UnitFailed               500
    ProtocolError                    bytes that are not of the protocol; a gate makes it a MalformedRequest
    ConfigError                      a setting: path into the configuration and what was expected
    ProfileError                     a JSAP: path into the document and what was expected
    JournalDamaged                   a file of the journal: its path, the byte and what was expected there
    ClientError                      what our clients raise
      ConnectionLost
      BrokerRefused                  code, status, description as the broker sent them
      BrokerMisbehaved               the broker's bytes are not of the protocol
"""

from __future__ import annotations

import traceback


class BrokerError(Exception):
    """Something that a sender is told in the protocol's own error form (facts: SEPA's flat error object)."""

    code = "internal_error"
    status = 500

    def __init__(self, description: str, *, code: str | None = None) -> None:
        super().__init__(description)
        self.description = description
        if code is not None:
            self.code = code


class RequestError(BrokerError):
    """The sender's doing."""

    code = "bad_request"
    status = 400


class MalformedRequest(RequestError):
    """The request is not one of the protocol's."""


class SparqlSyntaxError(RequestError):
    """The query or update is not SPARQL 1.1; `line` and `column` count from 1, None where unknown."""

    code = "parsing failed"

    def __init__(self, description: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(description)
        self.line = line
        self.column = column


class UnsupportedOperation(RequestError):
    """Well-formed, but refused by a setting (SERVICE, LOAD, a read-only store)."""

    code = "unsupported"


class QueryTooComplex(RequestError):
    """Evaluating it would endanger the process; the limits are settings under [limits]."""

    code = "too_complex"


class Unauthorized(RequestError):
    """No token, or one that is wrong, expired or revoked; the code is one of SEPA's, `challenge` that of RFC 6750."""

    code = "invalid_grant"
    status = 401

    def __init__(self, description: str, *, code: str | None = None, challenge: str = "Bearer") -> None:
        super().__init__(description, code=code)
        self.challenge = challenge


class Forbidden(RequestError):
    """Whoever asks is known, and may not do that."""

    code = "forbidden"
    status = 403


class GraphNotFound(RequestError):
    """The Graph Store Protocol names a graph that is not there."""

    code = "graph_not_found"
    status = 404


class NotFound(RequestError):
    """There is nothing at this path."""

    code = "not_found"
    status = 404


class MethodNotAllowed(RequestError):
    """The path is right, the method is not; `allow` lists those that are."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, description: str, *, allow: tuple[str, ...]) -> None:
        super().__init__(description)
        self.allow = allow


class NotAcceptable(RequestError):
    """None of the media types asked for can be made of this answer."""

    code = "not_acceptable"
    status = 406


class Conflict(RequestError):
    """It does not go together with what is there now."""

    code = "conflict"
    status = 409


class RequestTooLarge(RequestError):
    """The body or message is over its limit."""

    code = "too_large"
    status = 413


class UnsupportedMediaType(RequestError):
    """The body's media type is not one that this path reads."""

    code = "unsupported_media_type"
    status = 415


class Gone(RequestError):
    """It was there, and is not kept any more: begin anew."""

    code = "gone"
    status = 410


class UnknownSubscription(RequestError):
    """No subscription of that id belongs to this connection."""

    code = "sid_not_found"
    status = 500  # as SEPA's engine; 404 would make SEPA's Java client retry it as a time-out


class Overloaded(BrokerError):
    """Nothing is wrong with the request; the broker can't take it now.  `retry_after_s` goes into Retry-After."""

    code = "overloaded"
    status = 503
    retry_after_s = 1


class TooManyRequests(Overloaded):
    """The queue, or a limit on subscriptions or sockets, is full."""

    code = "too_many_requests"
    status = 429


class DeadlineExceeded(Overloaded):
    """It waited, or ran, longer than the setting allows."""

    code = "timeout"
    status = 504


class ShuttingDown(Overloaded):
    """The broker is draining before it ends."""

    code = "shutting_down"
    status = 503


class EngineError(BrokerError):
    """Ours: logged with a traceback."""


class StoreError(EngineError):
    """Oxigraph failed for a reason that is not the request's syntax."""

    code = "store_error"


class EndpointError(EngineError):
    """The remote SPARQL endpoint refused the request, or could not be reached."""

    code = "sparql11_endpoint"
    status = 502


class UnitFailed(EngineError):
    """A subscription's query could no longer be evaluated; the subscription has ended."""

    code = "subscription_failed"


class ProtocolError(ValueError):
    """Bytes that are not a message of the protocol; says what was expected."""


class ConfigError(Exception):
    """A setting is unknown or of the wrong kind; the message starts with its path."""


class ProfileError(Exception):
    """A JSAP can't be used; `path` leads into the document."""

    def __init__(self, path: str, description: str) -> None:
        super().__init__(f"{path}: {description}" if path else description)
        self.path = path
        self.description = description


class JournalDamaged(Exception):
    """What the journal keeps can't be trusted: `path`, the byte `offset` in it, and what was `expected` there.

    No part of the journal is skipped because of it: the start stops.
    """

    def __init__(self, path: str, offset: int, expected: str) -> None:
        super().__init__(f"{path} is damaged at byte {offset}: expected {expected}")
        self.path = path
        self.offset = offset
        self.expected = expected


class ClientError(Exception):
    """Raised by the clients."""


class ConnectionLost(ClientError):
    """The broker can't be reached, or the connection broke."""


class BrokerRefused(ClientError):
    """The broker answered with an error."""

    def __init__(self, code: str, status: int, description: str) -> None:
        super().__init__(f"{description} ({code}, {status})")
        self.code = code
        self.status = status
        self.description = description


class BrokerMisbehaved(ClientError):
    """The broker's bytes are not of the protocol."""


def without_frames(error: BrokerError) -> BrokerError:
    """The error, let go of what its tracebacks hold: a pyoxigraph result in a frame must die on its own thread."""
    link: BaseException | None = error
    while link is not None:
        traceback.clear_frames(link.__traceback__)
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error
