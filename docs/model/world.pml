/* What happens to clients and the store: messages arrive, time passes, the store forgets. */

inline grantOf(n) {
	vHolder = n; vTick = c[n].tick; vReq = c[n].req; vTok = c[n].tok; vAtt = c[n].att; vTko = c[n].tko;
	vSerial = c[n].serial; vKnown = c[n].knows; vSince = c[n].rWatermark
}

/* A plain lock is granted any number of times: here, LOCKED times. */
#ifndef LOCKED
#define LOCKED 4
#endif
#define ENOUGH(verb, o) (o > 0 || verb != CLAIM || serials < LOCKED)

#define WORD(v, word, text) :: v == word -> printf(text)
#define WORDS(v) if WORD(v, CLAIM, " claim") WORD(v, SYNC, " sync") WORD(v, RENEW, " renew") \
	WORD(v, SETTLE, " settle") WORD(v, RELEASE, " release") :: else fi
#define ANSWERS(v) if WORD(v, GRANTED, " granted") WORD(v, HELD, " held") WORD(v, DECIDED, " decided") \
	WORD(v, UNKNOWN, " unknown") WORD(v, DONE, " done") WORD(v, FENCED, " fenced") :: else fi

/* For who reads a counter-example. */
hidden byte vVerb;
inline printAnswer(n) {
	printf("client %d:", n);
	WORDS(vVerb);
	printf(" of %d, token %d: the store says", vTick, vTok);
	ANSWERS(status);
	if
	:: status == GRANTED -> printf(", token %d, units left %d\n", aTok, aLeft)
	:: else -> printf("\n")
	fi
}

/* Brings what client n has sent to the store, which answers at once. */
proctype Net(byte n) {
end:
	do
	:: atomic { c[n].main.verb != NONE && c[n].main.reply == NONE && ENOUGH(c[n].main.verb, c[n].tick) ->
		d_step {
			grantOf(n);
			if
			:: c[n].main.verb == CLAIM ->
				claim();
				c[n].rTok = aTok; c[n].rAtt = aAtt; c[n].rTko = aTko; c[n].rLeft = aLeft; c[n].rSerial = aSerial
			:: c[n].main.verb == SYNC -> sync()
			:: c[n].main.verb == SETTLE -> settle(false)
			:: c[n].main.verb == RELEASE -> settle(true)
			fi;
			c[n].main.reply = status;
			c[n].rWatermark = (c[n].main.verb == CLAIM || c[n].main.verb == SYNC -> rec.watermark : 0);
			vVerb = c[n].main.verb; printAnswer(n) } }
	:: atomic { c[n].renewal.verb != NONE && c[n].renewal.reply == NONE ->
		d_step {
			grantOf(n);
			renew();
			c[n].renewal.reply = status;
			vVerb = RENEW; printAnswer(n) } }
#if STALE
	:: atomic { c[n].late.verb != NONE && ENOUGH(c[n].late.verb, c[n].late.tick) ->
		d_step {
			vHolder = n; vTick = c[n].late.tick; vReq = c[n].late.req; vTok = c[n].late.tok; vAtt = c[n].late.att;
			vTko = c[n].late.tko; vSerial = c[n].late.serial; vKnown = c[n].late.knows;
			if
			:: c[n].late.verb == CLAIM -> claim()
			:: c[n].late.verb == RENEW -> renew()
			:: c[n].late.verb == SETTLE -> settle(false)
			:: c[n].late.verb == RELEASE -> settle(true)
			fi;
			printf("late: ");
			vVerb = c[n].late.verb; printAnswer(n) } }
#endif
	od
}

#if FAILOVERS
Record replica; /* what a failover brings back */
bool replicated;
byte failovers;

inline copy(to, from) {
	to.known = from.known; to.watermark = from.watermark; to.gapFrom = from.gapFrom; to.gapTo = from.gapTo; to.tok = from.tok;
	for (j : 0 .. TICKS) {
		to.open[j].there = from.open[j].there; to.open[j].holder = from.open[j].holder; to.open[j].req = from.open[j].req;
		to.open[j].tok = from.open[j].tok; to.open[j].att = from.open[j].att; to.open[j].tko = from.open[j].tko;
		to.open[j].left = from.open[j].left; to.open[j].released = from.open[j].released;
		to.open[j].serial = from.open[j].serial
	}
	for (j : 0 .. REMEMBERED - 1) {
		to.sTick[j] = from.sTick[j]; to.sTok[j] = from.sTok[j]; to.sExpired[j] = from.sExpired[j]
	}
}
inline wipe(r) {
	r.known = false; r.watermark = 0; r.gapFrom = 0; r.gapTo = 0; r.tok = 0;
	for (j : 0 .. TICKS) {
		r.open[j].there = false; r.open[j].holder = 0; r.open[j].req = 0; r.open[j].tok = 0; r.open[j].att = 0;
		r.open[j].tko = 0; r.open[j].left = 0; r.open[j].released = false; r.open[j].serial = 0
	}
	for (j : 0 .. REMEMBERED - 1) { r.sTick[j] = 0; r.sTok[j] = 0; r.sExpired[j] = false }
}
#endif

#define LESS(x) x = (x > 0 -> x - 1 : 0)

inline passes(n) {
	LESS(c[n].left);
	if
	:: c[n].main.verb == CLAIM && c[n].main.age < TTL -> c[n].main.age++
	:: else
	fi;
	if
	:: c[n].renewal.verb != NONE && c[n].renewal.age < TTL -> c[n].renewal.age++
	:: else
	fi;
	c[n].slipped = (c[n].slipped < TTL -> c[n].slipped + 1 : TTL)
}

byte losses;

#ifdef IDLE /* a record is lost before anything of it was granted */
#define MAY_BE_LOST (rec.tok == 0)
#else
#define MAY_BE_LOST true
#endif
proctype World() {
	byte n;
end:
	do
	/* A unit of the store's clock, which a client's clock may miss. */
	:: atomic {
		d_step {
			printf("a unit of time passes\n");
			n = 0;
			for (j : 0 .. TICKS) {
#ifndef BROKEN_LEASE_NEVER_ENDS
				LESS(rec.open[j].left);
#else
				skip;
#endif
#if FAILOVERS
				LESS(replica.open[j].left)
#endif
			}
#if SLIPS == 0
			for (j : 0 .. CLIENTS - 1) { passes(j) } }
#else
		};
		do
		:: d_step { n < CLIENTS -> passes(n); n++ }
		:: d_step { n < CLIENTS && c[n].slipped == TTL ->
			printf("which the clock of client %d misses\n", n);
			c[n].slipped = 1;
			n++ }
		:: n == CLIENTS -> n = 0; break
		od
#endif
		}
#if TICKS > 1
	:: atomic { due < TICKS -> due++ }
#endif
#if LOSSES
	:: atomic { losses < LOSSES && MAY_BE_LOST ->
		d_step {
			losses++;
			rec.known = false; rec.watermark = 0; rec.gapFrom = 0; rec.gapTo = 0; rec.tok = 0;
			for (j : 0 .. TICKS) { removeEntry(j) }
			for (j : 0 .. REMEMBERED - 1) { rec.sTick[j] = 0; rec.sTok[j] = 0; rec.sExpired[j] = false }
			for (j : 0 .. TICKS) { settledHere[j] = false }
#ifndef ALONE /* nobody notices, before a claim */
			since = due;
#elif CLIENTS == 2 /* what a client knows is written back; what none does, since the answer was lost, too, is not */
			for (j : 1 .. TICKS) {
				revived[j] = revived[j] || settled[j] && MAX(c[0].knows, c[1].knows) < j
			}
#endif
			printf("the store loses everything\n") } }
#endif
#if FAILOVERS
	:: atomic { !replicated && failovers < FAILOVERS -> d_step { copy(replica, rec); replicated = true; printf("the replica is up to date\n") } }
	:: atomic { replicated ->
		d_step {
			copy(rec, replica);
			for (j : 0 .. TICKS) { settledHere[j] = false }
			wipe(replica);
			replicated = false;
#ifdef LIMIT_CLOCK_GOES_BACK
			behind = 1;
#endif
			failovers++;
			printf("the replica takes over\n") } }
#endif
	od
}
