"""All limits of the collector, in one place; docs/asking.md has them in a table.

They bound what a stranger can use up: rows, memory, connections and time. None depends on who sends, because the
collector keeps nothing of a request but the report. The cap on reports is ``[collect] most`` of the plan.
"""

from __future__ import annotations

#: Bytes of a request beyond the digits of its report: the design, a code, the names of the keys.
BODY_BYTES = 1_000
#: Bytes of the head of a request; a browser sends fewer than 2,000.
HEAD_BYTES = 16_384
#: Seconds in which the head of a request has to be here, and then its body.
HEAD_SECONDS = 10.0
BODY_SECONDS = 10.0
#: Requests per minute under one code, or for one receipt; a page that waits for the network asks far less often.
PER_MINUTE = 20
#: Reports and withdrawals per minute in all: more than a thousand people every second.
ALL_PER_MINUTE = 100_000
#: Connections that are answered at once; further ones are told to come back (503).
CONNECTIONS = 1_000
#: Connections that may be open without a request; beyond that the oldest are closed, once they had a second.
WAITING = 100
WAITING_SECONDS = 1.0
#: Connections that wait until the server takes them.
BACKLOG = 2_048
#: Seconds for which a browser remembers to come by HTTPS only, where the collector has its own certificate.
HTTPS_SECONDS = 31_536_000
