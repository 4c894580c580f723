"""Drives Ztreamy's published clients under Python 2.7: JSON lines in, JSON lines out (see foreigner.py)."""

import json
import sys
import threading

import tornado.ioloop
from ztreamy import Event
from ztreamy.client import (
    AsyncStreamingClient,
    Client,
    ContinuousEventPublisher,
    EventPublisher,
    SynchronousClient,
    SynchronousEventPublisher,
)
from ztreamy.server import RelayStream, StreamServer

OUTPUT = sys.stdout
ONE_LINE = threading.Lock()
sys.stdout = sys.stderr  # what Ztreamy prints is not ours
LOOP = tornado.ioloop.IOLoop.instance()
LATER = object()


def say(**document):
    with ONE_LINE:
        OUTPUT.write(json.dumps(document) + "\n")
        OUTPUT.flush()


def told(event):
    return {
        "id": event.event_id,
        "source": event.source_id,
        "syntax": event.syntax,
        "type": event.event_type,
        "body": event.serialize_body().decode("utf-8"),
        "aggregators": event.aggregator_id,
        "more": dict(event.extra_headers),
    }


def event_of(item):
    extra = item.get("more", {})
    return Event(
        item["source"].encode("utf-8"),
        item.get("syntax", "text/turtle").encode("utf-8"),
        item["body"].encode("utf-8"),
        event_id=item["id"].encode("utf-8"),
        event_type=item["type"].encode("utf-8") if "type" in item else None,
        extra_headers={str(name): value.encode("utf-8") for name, value in extra.items()},
    )


class Driver:
    """What a verb returns is its answer; LATER: `answer` is called with it."""

    def __init__(self):
        self.running = {}

    def follow(self, answer, name, url, kind, **settings):  # noqa: ARG002
        make = {"async": AsyncStreamingClient, "client": Client}[kind]
        settings["event_callback"] = lambda event: say(of=name, event="item", value=told(event))
        settings["error_callback"] = lambda message, http_error=None: say(
            of=name, event="error", value=[message, str(http_error)]
        )
        client = make(str(url), **settings)  # a comma after it is not Python 2.7
        client.start(False)
        self.running[name] = client

    def relay(self, answer, name, url, port):  # noqa: ARG002
        server = StreamServer(port)
        server.add_stream(RelayStream("/relay", [str(url)]))
        server.start(False)
        self.running[name] = server

    def stop(self, answer, name):  # noqa: ARG002
        self.running.pop(name).stop()

    def poll(self, answer, url, last_seen=None):
        def ask():
            try:
                client = SynchronousClient(str(url), parse_event_body=False, last_event_seen=last_seen)
                answer(value=[told(event) for event in client.receive_events()])
            except Exception as error:  # noqa: BLE001 - it is told what was raised
                answer(raised=type(error).__name__, message=str(error))

        threading.Thread(target=ask).start()
        return LATER

    def publish(self, answer, url, items):
        events = [event_of(item) for item in items]
        publisher = EventPublisher(str(url))
        self.running[url] = publisher
        publisher.publish_events(events, lambda response: answer(value=response.code))
        return LATER

    def publish_now(self, answer, url, items):  # noqa: ARG002
        return SynchronousEventPublisher(str(url)).publish_events([event_of(item) for item in items])

    def publish_on(self, answer, name, url, items):  # noqa: ARG002
        if name not in self.running:
            self.running[name] = ContinuousEventPublisher(str(url), buffering_time=0.1)
            self.running[name].start()
        for item in items:
            self.running[name].publish(event_of(item))


def main():
    driver = Driver()

    def carry_out(order):
        def answer(**reply):
            say(n=order["n"], **reply)

        try:
            value = getattr(driver, order["do"])(answer, **order["with"])
        except Exception as error:  # noqa: BLE001 - it is told what was raised
            answer(raised=type(error).__name__, message=str(error))
        else:
            if value is not LATER:
                answer(value=value)

    def read():
        for line in iter(sys.stdin.readline, ""):
            LOOP.add_callback(carry_out, json.loads(line))
        LOOP.add_callback(LOOP.stop)

    reader = threading.Thread(target=read)
    reader.daemon = True
    reader.start()
    LOOP.start()


main()
