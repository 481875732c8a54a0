/* What happens to clients and the store: messages arrive, time passes, the store forgets. */

inline grantOf(n) {
	vHolder = n; vOcc = c[n].occ; vReq = c[n].req; vTok = c[n].tok; vAtt = c[n].att; vTko = c[n].tko;
	vSerial = c[n].serial; vHeard = c[n].heard; vSince = c[n].rMark
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
inline tell(n) {
	printf("client %d:", n);
	WORDS(vVerb);
	printf(" of %d, token %d: the store says", vOcc, vTok);
	ANSWERS(status);
	if
	:: status == GRANTED -> printf(", token %d, ticks left %d\n", aTok, aLeft)
	:: else -> printf("\n")
	fi
}

/* Brings what client n has sent to the store, which answers at once. */
proctype Net(byte n) {
end:
	do
	:: atomic { c[n].main.verb != NONE && c[n].main.reply == NONE && ENOUGH(c[n].main.verb, c[n].occ) ->
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
			c[n].rMark = (c[n].main.verb == CLAIM || c[n].main.verb == SYNC -> rec.mark : 0);
			vVerb = c[n].main.verb; tell(n) } }
	:: atomic { c[n].renewal.verb != NONE && c[n].renewal.reply == NONE ->
		d_step {
			grantOf(n);
			renew();
			c[n].renewal.reply = status;
			vVerb = RENEW; tell(n) } }
#if STALE
	:: atomic { c[n].late.verb != NONE && ENOUGH(c[n].late.verb, c[n].late.occ) ->
		d_step {
			vHolder = n; vOcc = c[n].late.occ; vReq = c[n].late.req; vTok = c[n].late.tok; vAtt = c[n].late.att;
			vTko = c[n].late.tko; vSerial = c[n].late.serial; vHeard = c[n].late.heard;
			if
			:: c[n].late.verb == CLAIM -> claim()
			:: c[n].late.verb == RENEW -> renew()
			:: c[n].late.verb == SETTLE -> settle(false)
			:: c[n].late.verb == RELEASE -> settle(true)
			fi;
			printf("late: ");
			vVerb = c[n].late.verb; tell(n) } }
#endif
	od
}

#if FAILOVERS
Record replica; /* what a failover brings back */
bool replicated;
byte failovers;

inline copy(to, from) {
	to.known = from.known; to.mark = from.mark; to.gapFrom = from.gapFrom; to.gapTo = from.gapTo; to.tok = from.tok;
	for (j : 0 .. OCCASIONS) {
		to.open[j].there = from.open[j].there; to.open[j].holder = from.open[j].holder; to.open[j].req = from.open[j].req;
		to.open[j].tok = from.open[j].tok; to.open[j].att = from.open[j].att; to.open[j].tko = from.open[j].tko;
		to.open[j].left = from.open[j].left; to.open[j].released = from.open[j].released;
		to.open[j].serial = from.open[j].serial
	}
	for (j : 0 .. REMEMBERED - 1) {
		to.sOcc[j] = from.sOcc[j]; to.sTok[j] = from.sTok[j]; to.sExpired[j] = from.sExpired[j]
	}
}
inline wipe(r) {
	r.known = false; r.mark = 0; r.gapFrom = 0; r.gapTo = 0; r.tok = 0;
	for (j : 0 .. OCCASIONS) {
		r.open[j].there = false; r.open[j].holder = 0; r.open[j].req = 0; r.open[j].tok = 0; r.open[j].att = 0;
		r.open[j].tko = 0; r.open[j].left = 0; r.open[j].released = false; r.open[j].serial = 0
	}
	for (j : 0 .. REMEMBERED - 1) { r.sOcc[j] = 0; r.sTok[j] = 0; r.sExpired[j] = false }
}
#endif

#define LESS(x) x = (x > 0 -> x - 1 : 0)

inline passes(n) {
	LESS(c[n].left);
	if
	:: c[n].main.verb == CLAIM && c[n].main.age < TERM -> c[n].main.age++
	:: else
	fi;
	if
	:: c[n].renewal.verb != NONE && c[n].renewal.age < TERM -> c[n].renewal.age++
	:: else
	fi;
	c[n].slipped = (c[n].slipped < TERM -> c[n].slipped + 1 : TERM)
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
	/* A tick of the store's clock, which a client's clock may miss. */
	:: atomic {
		d_step {
			printf("a tick\n");
			n = 0;
			for (j : 0 .. OCCASIONS) {
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
		:: d_step { n < CLIENTS && c[n].slipped == TERM ->
			printf("which the clock of client %d misses\n", n);
			c[n].slipped = 1;
			n++ }
		:: n == CLIENTS -> n = 0; break
		od
#endif
		}
#if OCCASIONS > 1
	:: atomic { due < OCCASIONS -> due++ }
#endif
#if LOSSES
	:: atomic { losses < LOSSES && MAY_BE_LOST ->
		d_step {
			losses++;
			rec.known = false; rec.mark = 0; rec.gapFrom = 0; rec.gapTo = 0; rec.tok = 0;
			for (j : 0 .. OCCASIONS) { removeEntry(j) }
			for (j : 0 .. REMEMBERED - 1) { rec.sOcc[j] = 0; rec.sTok[j] = 0; rec.sExpired[j] = false }
			for (j : 0 .. OCCASIONS) { settledHere[j] = false }
#ifndef ALONE /* nobody notices, before a claim */
			since = due;
#elif CLIENTS == 2 /* what a client has heard is written back; what none has, since the answer was lost, too, is not */
			for (j : 1 .. OCCASIONS) {
				revived[j] = revived[j] || settled[j] && MAX(c[0].heard, c[1].heard) < j
			}
#endif
			printf("the store loses everything\n") } }
#endif
#if FAILOVERS
	:: atomic { !replicated && failovers < FAILOVERS -> d_step { copy(replica, rec); replicated = true; printf("the replica is up to date\n") } }
	:: atomic { replicated ->
		d_step {
			copy(rec, replica);
			for (j : 0 .. OCCASIONS) { settledHere[j] = false }
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
