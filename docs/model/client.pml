/* What a client does, and what it believes: lease.Renewer and lease.Lease. */

typedef Call { /* that a client waits for */
	mtype verb = NONE;
	mtype reply = NONE;
	byte age /* in units of the client's clock, since it was sent */
}

typedef Late { /* a message that may arrive at any time, any number of times */
	mtype verb = NONE;
	byte tick, req, tok, att, tko, serial, knows
}

typedef Client {
	mtype at = NONE;     /* what it does: NONE, CLAIM, SYNC, HOLD, SETTLE or RELEASE */
	Call main, renewal;  /* the keeper renews while the holder settles */
	byte tick = FIRST;
	byte req;            /* requests are numbered, for each client */
	byte tok, att, tko, serial; /* of the grant; stays until the next one, for writes of who was frozen */
	byte left;           /* units of its clock until its deadline: 0 means that the context has ended */
	bool over;           /* Settle or Release has begun, or nothing is held */
	byte slipped;        /* units since its clock missed one */
	byte knows;          /* the newest watermark it knows */
	Late late;
	/* an answer on its way, besides main.reply */
	byte rTok, rAtt, rTko, rSerial, rLeft;
	byte rWatermark /* of a request to make a record: since when the store remembered when it was sent */
}

Client c[CLIENTS];
byte releases = RELEASES;
byte begun[TICKS + 1];  /* ghost: how often work has begun */
#ifdef DROPS
byte drops = DROPS;         /* calls that may fail; any number where it is not defined */
#define MAY_DROP drops > 0
#define DROPPED drops--
#else
#define MAY_DROP true
#define DROPPED skip
#endif

/* What is sent is lost, or gone once it was answered or given up, or it stays in the net. */
#if STALE
inline lateGrant(n) {
	c[n].late.tick = c[n].tick; c[n].late.req = c[n].req; c[n].late.knows = 0;
	c[n].late.tok = c[n].tok; c[n].late.att = c[n].att; c[n].late.tko = c[n].tko; c[n].late.serial = c[n].serial
}
inline mayStay(n) {
	if
	:: true
	:: d_step { lateGrant(n); c[n].late.verb = c[n].main.verb }
	fi
}
inline claimMayStay(n) {
	if
	:: true
	:: d_step {
		c[n].late.verb = CLAIM; c[n].late.tick = c[n].tick; c[n].late.req = c[n].req; c[n].late.knows = c[n].knows;
		c[n].late.tok = 0; c[n].late.att = 0; c[n].late.tko = 0; c[n].late.serial = 0 }
	fi
}
inline renewalMayStay(n) {
	if
	:: true
	:: d_step { lateGrant(n); c[n].late.verb = RENEW }
	fi
}
#else
inline mayStay(n) { skip }
inline claimMayStay(n) { skip }
inline renewalMayStay(n) { skip }
#endif

#define send(n, call, v) c[n].call.verb = v; c[n].call.reply = NONE; c[n].call.age = 0
#define forget(n, call) send(n, call, NONE)
inline forgetAnswer(n) {
	c[n].rTok = 0; c[n].rAtt = 0; c[n].rTko = 0; c[n].rSerial = 0; c[n].rLeft = 0; c[n].rWatermark = 0
}

/* Who makes a record asks first since when the store remembers. Where that is as it was, all clients are asked for what they
 * know, and those that are frozen, too, in time: an inquiry waits for them. */
inline lookSince(n) {
	if
	:: c[n].at == SYNC -> c[n].rWatermark = since;
#if defined(BROKEN_ALONE_AS_OF_NOW)
		c[n].rWatermark = due
#elif defined(ALONE) && !defined(BROKEN_ALONE_ASKS_NOBODY)
		for (j : 0 .. CLIENTS - 1) { c[n].rWatermark = MAX(c[n].rWatermark, c[j].knows) };
		j = 0
#endif
	:: else
	fi
}

/* A deadline counts from when the request was sent. */
#ifdef BROKEN_DEADLINE_FROM_ANSWER
#define AGE(n, call) 0
#else
#define AGE(n, call) c[n].call.age
#endif
#define REMAINS(units, n, call) ((units) > MARGIN + AGE(n, call) -> (units) - MARGIN - AGE(n, call) : 0)

#ifdef BROKEN_LATE_ANSWER_IS_TAKEN
#define IN_TIME(n) true
#else
#define IN_TIME(n) (c[n].left > 0)
#endif

/* The holder has let go of its lease. */
inline idle(n) {
	c[n].at = NONE;
	c[n].left = 0;
	c[n].over = true;
#ifndef RESOURCE
	c[n].tok = 0; c[n].att = 0; c[n].tko = 0; c[n].serial = 0;
#endif
	forget(n, renewal)
}

#if CHECKS(4) && !defined(RESOURCE)
#error P4 is of a RESOURCE
#endif
#ifdef RESOURCE
byte highest; /* the highest token that the resource has seen */
byte written; /* ghost: the newest grant, a serial, under which it was written */
#ifdef BROKEN_RESOURCE_TAKES_ALL
#define ACCEPTED(token) true
#else
#define ACCEPTED(token) (token >= highest)
#endif
#endif

#ifdef RENEWALS
byte renewals[CLIENTS];
#define MAY_RENEW (renewals[n] < RENEWALS)
#define RENEWING renewals[n]++
#else
#define MAY_RENEW true
#define RENEWING skip
#endif

proctype Holder(byte n) {
	byte was;
end:
	do
	/* Another request after each grant. */
	:: atomic { c[n].at == NONE && c[n].req < GRANTS ->
		if
		:: c[n].tick = FIRST
#if FIRST < 1
		:: LAST >= 1 -> c[n].tick = 1
#elif LAST > 1
		:: due >= 2 -> c[n].tick = 2
#endif
#if LAST > 2
		:: due >= 3 -> c[n].tick = 3
#endif
		fi;
		send(n, main, CLAIM);
		c[n].at = CLAIM }

	/* A call fails: it is made again, with the same request. */
	:: atomic { c[n].main.verb != NONE && MAY_DROP ->
		DROPPED;
		if
		:: c[n].at == CLAIM -> claimMayStay(n)
		:: c[n].at == SETTLE || c[n].at == RELEASE -> mayStay(n)
		:: else
		fi;
		forgetAnswer(n);
		lookSince(n);
		send(n, main, c[n].at) }
	:: atomic { c[n].renewal.verb != NONE && MAY_DROP ->
		DROPPED;
		renewalMayStay(n);
		forget(n, renewal) }

	:: atomic { c[n].at == CLAIM && c[n].main.reply != NONE ->
		if
		:: c[n].main.reply == GRANTED ->
			d_step {
				c[n].at = HOLD; c[n].over = false;
				c[n].tok = c[n].rTok; c[n].att = c[n].rAtt; c[n].tko = c[n].rTko; c[n].serial = c[n].rSerial;
				c[n].left = REMAINS(c[n].rLeft, n, main);
				begun[c[n].tick] = (c[n].tick > 0 && begun[c[n].tick] < 2 -> begun[c[n].tick] + 1 : begun[c[n].tick]);
				printf("client %d: holds %d, token %d, for %d units\n", n, c[n].tick, c[n].tok, c[n].left) };
			P1_one_holder(c[n].tick);
			P5_at_most_once(c[n].tick);
			claimMayStay(n);
			c[n].knows = MAX(c[n].knows, c[n].rWatermark);
			forget(n, main)
		:: c[n].main.reply == UNKNOWN ->
			claimMayStay(n);
			c[n].at = SYNC;
			send(n, main, SYNC)
		:: c[n].main.reply == HELD || c[n].main.reply == DECIDED ->
			claimMayStay(n);
			c[n].knows = MAX(c[n].knows, c[n].rWatermark);
			c[n].at = NONE;
			forget(n, main)
		fi;
		forgetAnswer(n);
		lookSince(n) }
	:: atomic { c[n].at == SYNC && c[n].main.reply != NONE ->
		c[n].knows = MAX(c[n].knows, c[n].rWatermark);
		c[n].at = CLAIM;
		forgetAnswer(n);
		send(n, main, CLAIM) }

	/* The keeper, also while the holder settles. */
	:: atomic { c[n].at != NONE && c[n].left > 0 && c[n].renewal.verb == NONE && c[n].main.verb != CLAIM && MAY_RENEW ->
		RENEWING;
		send(n, renewal, RENEW) }
	:: atomic { c[n].renewal.reply != NONE ->
		was = c[n].left;
		if
		:: c[n].renewal.reply == DONE -> printf("client %d: hears that it was renewed\n", n)
		:: else -> printf("client %d: hears that it is fenced\n", n)
		fi;
		if
		:: c[n].renewal.reply == DONE && IN_TIME(n) -> c[n].left = MAX(c[n].left, REMAINS(TTL, n, renewal))
		:: c[n].renewal.reply == DONE && !IN_TIME(n)
		:: c[n].renewal.reply == FENCED -> c[n].left = 0
		fi;
		P8_lost_stays_lost(was, c[n].left);
		was = 0;
		P1_one_holder(c[n].tick);
		renewalMayStay(n);
		forget(n, renewal) }

	/* The end, in time or not. The context ends first. */
	:: atomic { c[n].at == HOLD ->
		if
		:: c[n].at = SETTLE
		:: releases > 0 -> releases--; c[n].at = RELEASE
		fi;
#ifndef BROKEN_CONTEXT_OUTLIVES_LEASE
		c[n].over = true;
#endif
		send(n, main, c[n].at) }
	:: atomic { (c[n].at == SETTLE || c[n].at == RELEASE) && c[n].main.reply != NONE ->
		if
		:: c[n].renewal.verb != NONE -> renewalMayStay(n)
		:: mayStay(n)
		fi;
		c[n].req++;
		idle(n);
		forget(n, main) }
#ifdef LIVENESS
	/* A process dies; the others do not freeze for ever, and what they run has an end. */
	:: n == 0 -> break
#else
	/* It may also leave it at that, when the lease has run out. */
	:: atomic { c[n].at == HOLD && c[n].left == 0 ->
		if
		:: c[n].renewal.verb != NONE -> renewalMayStay(n)
		:: else
		fi;
		c[n].req++;
		idle(n) }
#endif

#ifdef RESOURCE
	/* A write, at any time: of a process that was frozen after it has looked at the clock, or does not look. */
	:: atomic { c[n].tok > 0 && ACCEPTED(c[n].tok) ->
		printf("client %d: writes under token %d\n", n, c[n].tok);
		CHECKED(4, c[n].serial >= written);
		written = MAX(written, c[n].serial);
		highest = MAX(highest, c[n].tok) }
#endif
	od
}
