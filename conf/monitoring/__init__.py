"""The monitoring of the SEPA paper (its section 5.4): raw MQTT messages become observations that say what they mean.

::

    topics_manager   ADD_OBSERVATION ---->  broker  ----> TOPICS                adapter
    adapter          UPDATE_VALUE ------->  broker  ----> OBSERVATIONS_VALUES   values, storing
    storing          STORE_OBSERVATION -->  a second SPARQL endpoint, which keeps everything

A mapping ties a name that the formats make of MQTT topics to an observation, with its unit, place and label
(`extended.semantic-mappings`); formats say how the number is read out of the messages of a topic (`extended.formats`, see
`formats.py`).  The broker holds the present value of each observation, the second endpoint every value there was.

`monitoring.jsap` follows the paper's listing 18, and differs where the listing would not do:

- Every message is a change.  The listing's UPDATE_VALUE replaces one number by another, so the same number twice would
  change nothing, nobody would be notified, and a reading would be missing from the second store.  Here UPDATE_VALUE
  also sets `sosa:resultTime`, which the adapter takes when the message arrives and never gives twice, and
  OBSERVATIONS_VALUES has it as ?time.  An update that is made twice, after a lost answer, still changes nothing.
- STORE_OBSERVATION makes its IRIs of the observation and the time instead of STRUUID(), so that storing twice is storing
  once, and it stores the time of the reading, not that of the storing.
- `IRI(CONCAT("arces-monitor:QuantityValue-", ...))` is an IRI whose scheme is arces-monitor: a prefix inside a string is
  no prefix.  STR(monitor:) is the namespace itself.
- `STR(NOW())` is a plain string, but the range of `time:inXSDDateTimeStamp` is xsd:dateTimeStamp, which has to have a time
  zone; times here have it.  A store may keep it as xsd:dateTime, of which it is a part: Oxigraph does.
- Instants are not named in the namespace of OWL-Time, which is W3C's, but in the monitoring's own.
- Numbers are typed, xsd:decimal or (very large, very small, or written with an exponent) xsd:double.  As plain literals
  "9" would be greater than "10".
- ADD_OBSERVATION keeps a value that is there: the quantity's IRI is made of the observation's, and only the description
  is replaced.  So a mapping may be added again at any time, and one that has not changed notifies nobody.
- REMOVE_OBSERVATION is new.  The listing as printed lacks three braces.

Run it: `python -m triplewire.conf.monitoring all`, or each agent on its own: `topics`, `adapter`, `values`, `store`.
"""
