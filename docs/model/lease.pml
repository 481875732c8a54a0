/* Claim, renew, settle, release, expiry, freeze and takeover: clients, messages that are lost, late or repeated, and one
 * record. README.md says how this corresponds to the code, and internal/scripts/model.sh which constants belong together.
 *
 * A client freezes when it takes no step while others do; a process that died is one that never thaws.
 */

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef TICKS
#define TICKS 1
#endif
#ifndef FIRST /* 0: the clients also contend for the plain lock */
#define FIRST 1
#endif
#ifndef LAST
#define LAST TICKS
#endif
#ifndef REMEMBERED
#define REMEMBERED 1
#endif
#ifndef TTL /* units of the store's clock */
#define TTL 3
#endif
#ifdef BROKEN_NO_MARGIN
#define MARGIN 0
#endif
#ifndef MARGIN /* how much earlier the holder's deadline is */
#define MARGIN 1
#endif
#ifndef SLIPS /* how many units of any TTL a client's clock may miss */
#define SLIPS 1
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 1
#endif
#ifndef GRANTS /* that a client may have, under one request each */
#define GRANTS 1
#endif
#ifndef RELEASES /* in all */
#define RELEASES 1
#endif
#ifndef STALE /* 1: what a client has given up waiting for, or got an answer to, may still arrive, and more than once */
#define STALE 1
#endif
#ifndef LOSSES /* of everything that the store knew */
#define LOSSES 0
#endif
#ifndef FAILOVERS /* to an earlier state of the store */
#define FAILOVERS 0
#endif
#ifndef PROPS /* a bit for each property that is checked; these hold of every configuration without losses */
#define PROPS (1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8)
#endif
#include "properties.pml"

mtype { NONE, CLAIM, SYNC, RENEW, SETTLE, RELEASE, HOLD,
	GRANTED, HELD, DECIDED, UNKNOWN, DONE, FENCED };

#include "record.pml"
#include "client.pml"
#include "world.pml"

init {
	atomic {
		rec.known = true;
		for (j : 0 .. CLIENTS - 1) { c[j].slipped = TTL; c[j].over = true }
		j = 0;
		for (j : 0 .. CLIENTS - 1) { run Holder(j); run Net(j) }
		run World()
	}
}

#ifdef LIVENESS
ltl P9_decided_in_the_end { <> (settled[1]) }
#endif
