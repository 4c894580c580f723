"""Drives sepy, in sepy's own virtual environment: JSON lines in, JSON lines out (see foreigner.py)."""

import json
import sys
import threading

import yaml
from sepy import tablaze
from sepy.SAPObject import SAPObject, YsapTemplate, generate
from sepy.SEPA import SEPA

OUTPUT = sys.stdout
ONE_LINE = threading.Lock()
sys.stdout = sys.stderr  # what sepy prints is not ours


def say(**document):
    with ONE_LINE:
        OUTPUT.write(json.dumps(document) + "\n")
        OUTPUT.flush()


def heard(name):
    def handler(added, removed):
        say(of=name, event="results", value={"added": added, "removed": removed})

    return handler


class Driver:
    def __init__(self):
        self.sepa = None

    def open(self, jsap, client_id=None):
        self.sepa = SEPA(sapObject=SAPObject(jsap), client_id=client_id)

    def open_generated(self, **parts):
        written = generate(YsapTemplate, **parts)
        self.sepa = SEPA(sapObject=SAPObject(yaml.safe_load(written)))
        return written

    def sparql_update(self, sparql):
        return json.loads(self.sepa.sparql_update(sparql))

    def sparql_query(self, sparql):
        return self.sepa.sparql_query(sparql)

    def update(self, entry, bindings):
        return json.loads(self.sepa.update(entry, bindings))

    def query(self, entry, bindings):
        return self.sepa.query(entry, bindings)

    def clear(self):
        return json.loads(self.sepa.clear())

    def query_all(self):
        return self.sepa.query_all()

    def table(self, results, prefixes):
        return tablaze.tablify(results, prefixes, destination=None)

    def subscribe(self, name, entry, alias, bindings):
        return self.sepa.subscribe(entry, alias, bindings, handler=heard(name))

    def sparql_subscribe(self, name, sparql, alias, default_graph=None):
        return self.sepa.sparql_subscribe(sparql, alias, heard(name), default_graph=default_graph)

    def unsubscribe(self, spuid):
        self.sepa.unsubscribe(spuid)

    def subscriptions(self):
        return sorted(self.sepa.get_subscriptions())


def main():
    driver = Driver()
    for line in sys.stdin:
        order = json.loads(line)
        try:
            value = getattr(driver, order["do"])(**order["with"])
        except Exception as error:  # noqa: BLE001 - it is told what was raised
            say(n=order["n"], raised=type(error).__name__, message=str(error))
        else:
            say(n=order["n"], value=value)


main()
