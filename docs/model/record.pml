/* What the store keeps of one name, and how it answers: internal/record without the policies (overlap, pause, trigger).
 *
 * Time is relative: left is how many ticks of the store's clock remain of a lease. Tokens count grants, since the store's
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
	bool known;          /* the mark is */
	byte mark;           /* every occasion up to it is open or settled */
	byte gapFrom, gapTo; /* occasions of which grants may have been lost */
	byte tok;
	Entry open[OCCASIONS + 1]; /* [0] is the plain lock */
	byte sOcc[REMEMBERED];     /* the last that were settled, newest last; the token is 0 where there is none */
	byte sTok[REMEMBERED];
	bool sExpired[REMEMBERED]  /* by the store, when the lease had run out */
}

Record rec;
byte since;     /* the occasions that were due when the store last lost what it knew: it remembers from then on */
byte due = 1;   /* the occasions that are due by the store's clock */
byte serials;   /* grants, ever */
byte behind;    /* how far the clock of the server that took over is behind, in grants */

/* What the properties are about, and no code knows. */
byte newest;                         /* the highest token ever granted */
byte newestOf[OCCASIONS + 1];        /* the last grant of each occasion, a serial */
bool settled[OCCASIONS + 1];         /* ever */
bool settledHere[OCCASIONS + 1];     /* and not before the record was lost or went back in time */
byte settledBy[OCCASIONS + 1];       /* a serial; 0 for the store itself */
bool revived[OCCASIONS + 1];         /* a grant that the record had forgotten was written anew */

/* The grant of a request, and the answer. They are no part of the state. */
hidden byte vOcc, vHolder, vReq, vTok, vAtt, vTko, vSerial, vHeard, vSince;
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
	:: rec.mark < k ->
		if
		:: rec.gapTo < rec.mark -> rec.gapFrom = rec.mark
		:: else
		fi;
		rec.mark = k;
		rec.gapTo = k
	:: else
	fi
}

/* found: the grant v, and not the store in its stead, has settled its occasion lately. */
inline findSettledBy() {
	found = false;
	for (i : 0 .. REMEMBERED - 1) {
		found = found || (rec.sTok[i] > 0 && rec.sTok[i] == vTok && rec.sOcc[i] == vOcc && !rec.sExpired[i])
	}
}

/* found: the occasion of v was settled lately. */
inline findRemembered() {
	found = false;
	for (i : 0 .. REMEMBERED - 1) {
		found = found || (rec.sTok[i] > 0 && rec.sOcc[i] == vOcc)
	}
}

inline remember(o, token, expired) {
#ifndef BROKEN_GAP_STAYS_OPEN
	if
	:: rec.sTok[0] > 0 && rec.gapFrom < rec.sOcc[0] && rec.sOcc[0] <= rec.gapTo -> rec.gapFrom = rec.sOcc[0]
	:: else
	fi;
#endif
	for (i : 1 .. REMEMBERED - 1) {
		rec.sOcc[i - 1] = rec.sOcc[i]; rec.sTok[i - 1] = rec.sTok[i]; rec.sExpired[i - 1] = rec.sExpired[i]
	}
#ifndef BROKEN_SETTLED_IS_FORGOTTEN
	rec.sOcc[REMEMBERED - 1] = o; rec.sTok[REMEMBERED - 1] = token; rec.sExpired[REMEMBERED - 1] = expired
#endif
}

/* gone: the grant v, which is not open, may be missing only because the record was lost or went back in time. */
inline findForgotten() {
	if
	:: other || vOcc == 0 ->
		findSettledBy();
		gone = vTok > rec.tok && !found
	:: else ->
		findRemembered();
		gone = !found && ((rec.known && vOcc > rec.mark) || (!rec.known && vOcc > rec.gapTo) ||
			(rec.gapFrom < vOcc && vOcc <= rec.gapTo))
	fi
}

/* What a store must compare: the token. The name of the holder alone does not tell two of its grants apart. */
#define SAME_TOKEN (rec.open[vOcc].tok == vTok)
#ifdef BROKEN_ANY_TOKEN
#define MATCHES true
#else
#define MATCHES SAME_TOKEN
#endif

/* current: the grant v is, or was forgotten and is written anew. */
inline findCurrent() {
	other = rec.open[vOcc].there;
	if
	:: other && MATCHES -> current = true
	:: else ->
		findForgotten();
		current = gone;
		if
		:: gone ->
			rec.tok = MAX(rec.tok, vTok);
			if
			:: rec.known -> learn(vOcc)
			:: else -> rec.gapTo = MAX(rec.gapTo, vOcc)
			fi;
			removeEntry(vOcc);
			rec.open[vOcc].there = true; rec.open[vOcc].holder = vHolder; rec.open[vOcc].req = vReq;
			rec.open[vOcc].tok = vTok; rec.open[vOcc].att = vAtt; rec.open[vOcc].tko = vTko;
			rec.open[vOcc].serial = vSerial;
			P7_settled_is_not_revived();
			revived[vOcc] = true
		:: else
		fi
	fi
}

inline renew() {
	findCurrent();
	if
	:: current && !rec.open[vOcc].released ->
		rec.open[vOcc].left = TERM;
		rec.open[vOcc].att = MAX(rec.open[vOcc].att, vAtt);
		status = DONE;
		P7_stale_is_fenced()
	:: else -> status = FENCED
	fi
}

inline settle(release) {
	found = false;
	if
	:: !rec.open[vOcc].there && (vOcc == 0 || !release) -> findSettledBy()
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
			:: release && vOcc > 0 ->
				rec.open[vOcc].left = 0;
				rec.open[vOcc].released = true;
				rec.open[vOcc].att = MAX(rec.open[vOcc].att, vAtt)
			:: else ->
				P7_one_outcome();
				removeEntry(vOcc);
				remember(vOcc, vTok, false);
				settled[vOcc] = vOcc > 0;
				settledHere[vOcc] = vOcc > 0;
				settledBy[vOcc] = vSerial;
#ifdef BROKEN_SETTLE_DELETES
				rec.mark = 0; /* as a lock does that is deleted when its holder is done */
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
	rec.open[vOcc].there = true; rec.open[vOcc].holder = vHolder; rec.open[vOcc].req = vReq;
	rec.open[vOcc].tok = rec.tok; rec.open[vOcc].att = attempt; rec.open[vOcc].tko = takeovers;
	rec.open[vOcc].left = TERM; rec.open[vOcc].released = false; rec.open[vOcc].serial = serials;
	newest = MAX(newest, rec.tok);
	newestOf[vOcc] = serials;
	answerEntry()
}

inline answerEntry() {
	status = GRANTED;
	aTok = rec.open[vOcc].tok; aAtt = rec.open[vOcc].att; aTko = rec.open[vOcc].tko; aLeft = rec.open[vOcc].left;
	aSerial = rec.open[vOcc].serial
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
#define REPEATED (rec.open[vOcc].holder == vHolder && rec.open[vOcc].req == vReq)
#endif
#ifdef BROKEN_CLAIM_BRINGS_NO_MARK
#define BROUGHT 0
#else
#define BROUGHT vHeard
#endif

inline claim() {
	aTok = 0; aAtt = 0; aTko = 0; aLeft = 0; aSerial = 0;
	if
	:: vOcc > 0 && !rec.known -> status = UNKNOWN
	:: else ->
		if
		:: vOcc > 0 -> learn(BROUGHT)
		:: else
		fi;
		if
		:: rec.open[vOcc].there && rec.open[vOcc].left > 0 ->
			if
			:: REPEATED -> answerEntry()
			:: else ->
				status = HELD;
				P6_repeated_claim_is_granted()
			fi
		:: rec.open[vOcc].there && rec.open[vOcc].left == 0 && vOcc > 0 && SPENT(vOcc) ->
			overAsLost(vOcc);
			status = DECIDED
		:: rec.open[vOcc].there && rec.open[vOcc].left == 0 && vOcc > 0 && !SPENT(vOcc) ->
			P3_never_again();
			if
			:: rec.open[vOcc].released -> grant(rec.open[vOcc].att + 1, rec.open[vOcc].tko)
			:: else -> grant(rec.open[vOcc].att + 1, rec.open[vOcc].tko - (rec.open[vOcc].tko > 0 -> 1 : 0))
			fi
		:: vOcc == 0 && rec.open[0].left == 0 -> grant(1, 0)
		:: !rec.open[vOcc].there && 0 < vOcc && vOcc <= rec.mark -> status = DECIDED
		:: !rec.open[vOcc].there && vOcc > rec.mark ->
			P3_never_again();
			P3_never_again_to_who_has_heard();
#if OCCASIONS > 1
			sweep();
#endif
			rec.mark = vOcc;
			grant(1, TAKEOVERS)
		fi
	fi
}

hidden byte j;
inline sweep() {
	for (j : 1 .. OCCASIONS) {
		if
		:: rec.open[j].there && rec.open[j].left == 0 && SPENT(j) -> overAsLost(j)
		:: else
		fi
	}
}

/* Makes a record where there is none. Its mark is what was due when the store began to remember, if the claimers know
 * of that, as the scheduler does. */
inline sync() {
	if
	:: !rec.known ->
		rec.known = true;
#ifdef SINCE
		rec.mark = MAX(MAX(vSince, vHeard), rec.gapTo);
#else
		rec.mark = MAX(vHeard, rec.gapTo);
#endif
		rec.gapTo = rec.mark
	:: else
	fi;
	learn(vHeard);
	status = DONE
}
