/* What the store keeps of one name, and how it answers: internal/record without the policies (overlap, pause, trigger).
 *
 * Time is relative: left is how many units of the store's clock remain of a lease. Tokens count grants, since the store's
 * clock in microseconds rises between any two: see TOKEN.
 */

typedef Entry {
	bool there;
	byte holder, req;   /* who was granted it, by which request */
	byte tok, att, tko; /* the token, the attempt, takeovers that are left */
	byte left;
	bool released;
	byte serial         /* ghost: which grant it is, in the order in which they were made */
}

typedef Record {
	bool known;          /* the watermark is */
	byte watermark;           /* every tick up to it is open or settled */
	byte gapFrom, gapTo; /* ticks of which grants may have been lost */
	byte tok;
	Entry open[TICKS + 1]; /* [0] is the plain lock */
	byte sTick[REMEMBERED];     /* the last that were settled, newest last; the token is 0 where there is none */
	byte sTok[REMEMBERED];
	bool sExpired[REMEMBERED]  /* by the store, when the lease had run out */
}

Record rec;
byte since;     /* the ticks that were due when the store last lost what it knew: it remembers from then on */
byte due = 1;   /* the ticks that are due by the store's clock */
byte serials;   /* grants, ever */
byte behind;    /* how far the clock of the server that took over is behind, in grants */

/* What the properties are about, and no code knows. */
byte newest;                         /* the highest token ever granted */
byte newestOf[TICKS + 1];        /* the last grant of each tick, a serial */
bool settled[TICKS + 1];         /* ever */
bool settledHere[TICKS + 1];     /* and not before the record was lost or went back in time */
byte settledBy[TICKS + 1];       /* a serial; 0 for the store itself */
bool revived[TICKS + 1];         /* a grant that the record had forgotten was written back */

/* The grant of a request, and the answer. They are no part of the state. */
hidden byte vTick, vHolder, vReq, vTok, vAtt, vTko, vSerial, vKnown, vSince;
hidden byte status, aTok, aAtt, aTko, aLeft, aSerial;
hidden byte i;
hidden byte found, other, current, gone;

#define MAX(a, b) ((a) > (b) -> (a) : (b))

#ifdef BROKEN_TOKEN_COUNTS_ONLY
#define TOKEN (rec.tok + 1)
#else
#define TOKEN MAX(rec.tok + 1, serials - behind)
#endif

inline removeEntry(o) {
	rec.open[o].there = false; rec.open[o].holder = 0; rec.open[o].req = 0; rec.open[o].tok = 0; rec.open[o].att = 0;
	rec.open[o].tko = 0; rec.open[o].left = 0; rec.open[o].released = false; rec.open[o].serial = 0
}

inline learn(k) {
	if
	:: rec.watermark < k ->
		if
		:: rec.gapTo < rec.watermark -> rec.gapFrom = rec.watermark
		:: else
		fi;
		rec.watermark = k;
		rec.gapTo = k
	:: else
	fi
}

/* found: the grant v, and not the store in its stead, has settled its tick lately. */
inline findSettledBy() {
	found = false;
	for (i : 0 .. REMEMBERED - 1) {
		found = found || (rec.sTok[i] > 0 && rec.sTok[i] == vTok && rec.sTick[i] == vTick && !rec.sExpired[i])
	}
}

/* found: the tick of v was settled lately. */
inline findRemembered() {
	found = false;
	for (i : 0 .. REMEMBERED - 1) {
		found = found || (rec.sTok[i] > 0 && rec.sTick[i] == vTick)
	}
}

inline remember(o, token, expired) {
#ifndef BROKEN_GAP_STAYS_OPEN
	if
	:: rec.sTok[0] > 0 && rec.gapFrom < rec.sTick[0] && rec.sTick[0] <= rec.gapTo -> rec.gapFrom = rec.sTick[0]
	:: else
	fi;
#endif
	for (i : 1 .. REMEMBERED - 1) {
		rec.sTick[i - 1] = rec.sTick[i]; rec.sTok[i - 1] = rec.sTok[i]; rec.sExpired[i - 1] = rec.sExpired[i]
	}
#ifndef BROKEN_SETTLED_IS_FORGOTTEN
	rec.sTick[REMEMBERED - 1] = o; rec.sTok[REMEMBERED - 1] = token; rec.sExpired[REMEMBERED - 1] = expired
#endif
}

/* gone: the grant v, which is not open, may be missing only because the record was lost or went back in time. */
inline findForgotten() {
	if
	:: other || vTick == 0 ->
		findSettledBy();
		gone = vTok > rec.tok && !found
	:: else ->
		findRemembered();
		gone = !found && ((rec.known && vTick > rec.watermark) || (!rec.known && vTick > rec.gapTo) ||
			(rec.gapFrom < vTick && vTick <= rec.gapTo))
	fi
}

/* What a store must compare: the token. The name of the holder alone does not tell two of its grants apart. */
#define SAME_TOKEN (rec.open[vTick].tok == vTok)
#ifdef BROKEN_ANY_TOKEN
#define MATCHES true
#else
#define MATCHES SAME_TOKEN
#endif

/* current: the grant v is, or was forgotten and is written back. */
inline findCurrent() {
	other = rec.open[vTick].there;
	if
	:: other && MATCHES -> current = true
	:: else ->
		findForgotten();
		current = gone;
		if
		:: gone ->
			rec.tok = MAX(rec.tok, vTok);
			if
			:: rec.known -> learn(vTick)
			:: else -> rec.gapTo = MAX(rec.gapTo, vTick)
			fi;
			removeEntry(vTick);
			rec.open[vTick].there = true; rec.open[vTick].holder = vHolder; rec.open[vTick].req = vReq;
			rec.open[vTick].tok = vTok; rec.open[vTick].att = vAtt; rec.open[vTick].tko = vTko;
			rec.open[vTick].serial = vSerial;
			P7_settled_is_not_revived();
			revived[vTick] = true
		:: else
		fi
	fi
}

inline renew() {
	findCurrent();
	if
	:: current && !rec.open[vTick].released ->
		rec.open[vTick].left = TTL;
		rec.open[vTick].att = MAX(rec.open[vTick].att, vAtt);
		status = DONE;
		P7_stale_is_fenced()
	:: else -> status = FENCED
	fi
}

inline settle(release) {
	found = false;
	if
	:: !rec.open[vTick].there && (vTick == 0 || !release) -> findSettledBy()
	:: else
	fi;
	if
	:: found -> status = DONE
	:: else ->
		findCurrent();
		if
		:: !current ->
			status = FENCED;
			P6_repeated_settle_is_done(release)
		:: else ->
			status = DONE;
			P7_stale_is_fenced();
			if
			:: release && vTick > 0 ->
				rec.open[vTick].left = 0;
				rec.open[vTick].released = true;
				rec.open[vTick].att = MAX(rec.open[vTick].att, vAtt)
			:: else ->
				P7_one_outcome();
				removeEntry(vTick);
				remember(vTick, vTok, false);
				settled[vTick] = vTick > 0;
				settledHere[vTick] = vTick > 0;
				settledBy[vTick] = vSerial;
#ifdef BROKEN_SETTLE_DELETES
				rec.watermark = 0; /* as a lock does that is deleted when its holder is done */
				rec.sTok[REMEMBERED - 1] = 0
#endif
			fi
		fi
	fi
}

inline grant(attempt, takeovers) {
	serials++;
	rec.tok = TOKEN;
	P2_tokens_rise();
	rec.open[vTick].there = true; rec.open[vTick].holder = vHolder; rec.open[vTick].req = vReq;
	rec.open[vTick].tok = rec.tok; rec.open[vTick].att = attempt; rec.open[vTick].tko = takeovers;
	rec.open[vTick].left = TTL; rec.open[vTick].released = false; rec.open[vTick].serial = serials;
	newest = MAX(newest, rec.tok);
	newestOf[vTick] = serials;
	answerEntry()
}

inline answerEntry() {
	status = GRANTED;
	aTok = rec.open[vTick].tok; aAtt = rec.open[vTick].att; aTko = rec.open[vTick].tko; aLeft = rec.open[vTick].left;
	aSerial = rec.open[vTick].serial
}

inline overAsLost(o) {
	remember(o, rec.open[o].tok, true);
	removeEntry(o);
	settled[o] = true;
	settledHere[o] = true;
	settledBy[o] = 0
}

#ifdef BROKEN_TAKEOVERS_ARE_NOT_COUNTED
#define SPENT(o) false
#else
#define SPENT(o) (rec.open[o].tko == 0 && !rec.open[o].released)
#endif
#ifdef BROKEN_CLAIM_HAS_NO_REQUEST
#define REPEATED false
#else
#define REPEATED (rec.open[vTick].holder == vHolder && rec.open[vTick].req == vReq)
#endif
#ifdef BROKEN_CLAIM_BRINGS_NO_WATERMARK
#define BROUGHT 0
#else
#define BROUGHT vKnown
#endif

inline claim() {
	aTok = 0; aAtt = 0; aTko = 0; aLeft = 0; aSerial = 0;
	if
	:: vTick > 0 && !rec.known -> status = UNKNOWN
	:: else ->
		if
		:: vTick > 0 -> learn(BROUGHT)
		:: else
		fi;
		if
		:: rec.open[vTick].there && rec.open[vTick].left > 0 ->
			if
			:: REPEATED -> answerEntry()
			:: else ->
				status = HELD;
				P6_repeated_claim_is_granted()
			fi
		:: rec.open[vTick].there && rec.open[vTick].left == 0 && vTick > 0 && SPENT(vTick) ->
			overAsLost(vTick);
			status = DECIDED
		:: rec.open[vTick].there && rec.open[vTick].left == 0 && vTick > 0 && !SPENT(vTick) ->
			P3_never_again();
			if
			:: rec.open[vTick].released -> grant(rec.open[vTick].att + 1, rec.open[vTick].tko)
			:: else -> grant(rec.open[vTick].att + 1, rec.open[vTick].tko - (rec.open[vTick].tko > 0 -> 1 : 0))
			fi
		:: vTick == 0 && rec.open[0].left == 0 -> grant(1, 0)
		:: !rec.open[vTick].there && 0 < vTick && vTick <= rec.watermark -> status = DECIDED
		:: !rec.open[vTick].there && vTick > rec.watermark ->
			P3_never_again();
			P3_never_again_to_who_knows();
#if TICKS > 1
			sweep();
#endif
			rec.watermark = vTick;
			grant(1, TAKEOVERS)
		fi
	fi
}

hidden byte j;
inline sweep() {
	for (j : 1 .. TICKS) {
		if
		:: rec.open[j].there && rec.open[j].left == 0 && SPENT(j) -> overAsLost(j)
		:: else
		fi
	}
}

/* Makes a record where there is none. Its watermark is what was due when the store began to remember, if the claimers know
 * of that, as the scheduler does. */
inline sync() {
	if
	:: !rec.known ->
		rec.known = true;
#ifdef SINCE
		rec.watermark = MAX(MAX(vSince, vKnown), rec.gapTo);
#else
		rec.watermark = MAX(vKnown, rec.gapTo);
#endif
		rec.gapTo = rec.watermark
	:: else
	fi;
	learn(vKnown);
	status = DONE
}
