"""Clients of a SPARQL event broker: ask it, change it, and follow the answers to queries; and the command line.

Each class has a twin for asyncio.  With a profile (JSAP): `Producer`, `Consumer`, `Aggregator`, `GenericClient`.
With URLs and SPARQL only: `SparqlClient` and `Subscriber`.
"""

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ClientError, ConnectionLost

from .aggregator import Aggregator, AsyncAggregator
from .async_subscriber import AsyncSubscriber
from .callbacks import Callbacks
from .client_credentials import ClientCredentials
from .consumer import AsyncConsumer, Consumer
from .flows import Method
from .generic import AsyncGenericClient, GenericClient
from .live_query import LiveQuery
from .producer import AsyncProducer, Producer
from .settings import ClientSettings
from .solutions import Solution, solutions_of
from .sparql import AsyncSparqlClient, SparqlClient
from .subscriber import Subscriber

__all__ = [
    "Aggregator",
    "AsyncAggregator",
    "AsyncConsumer",
    "AsyncGenericClient",
    "AsyncProducer",
    "AsyncSparqlClient",
    "AsyncSubscriber",
    "BrokerMisbehaved",
    "BrokerRefused",
    "Callbacks",
    "ClientCredentials",
    "ClientError",
    "ClientSettings",
    "ConnectionLost",
    "Consumer",
    "GenericClient",
    "LiveQuery",
    "Method",
    "Producer",
    "Solution",
    "SparqlClient",
    "Subscriber",
    "solutions_of",
]
