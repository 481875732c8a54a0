/* The watermark when the store's clock was wrong: it jumps ahead, may be accepted, comes back, and somebody repairs the
 * record. Leases never run out here. README.md says how this corresponds to the code.
 *
 * Times are counts of ticks, from 1 to LAST; a search is exhaustive for runs of that length.
 */

#define CLIENTS 2
#define JUMP 2     /* how far the clock is ahead while it is wrong */
#define LIMIT 1
#define REAL 3     /* the real time at the end */
#define LAST (REAL + JUMP)
#ifndef REMEMBERED /* ticks settled one by one that a repair can tell from those that were not */
#define REMEMBERED LAST
#endif

mtype { NONE, CLAIM, GRANTED, REFUSED, SETTLE };

typedef Client {
	byte offset;       /* of the clock that it trusts: 0 or JUMP */
	byte known;        /* the newest watermark that it knows */
	mtype at = NONE, reply = NONE;
	byte tick, brought, until;
	bool late          /* a settlement that was lost on its way, or its answer, comes again */
}
Client c[CLIENTS];

byte now;              /* real time */
byte off, jumps, repairs;
byte watermark;
bool open[LAST + 1];
byte holder[LAST + 1];
bool settled[LAST + 1];    /* and remembered one by one */
byte order[REMEMBERED];    /* the last that were settled */
bool except[LAST + 1];     /* settled or open beyond the watermark of a repair */
bool over[LAST + 1];       /* ghost: ever settled */
bool accepted;             /* ghost: somebody has trusted the clock that was wrong */

#define STORE (now + off)
#define MINE(n) (now + c[n].offset)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define CHECKED(n, holds) assert(!(PROPS & (1 << n)) || (holds))
hidden byte j;

/* Nobody moves the watermark further ahead than its plausible time, and what may pass for no step; which is the real time
 * while nobody has accepted another. */
#define P13_no_further_than_plausible(n) CHECKED(13, watermark <= MINE(n) + LIMIT && (accepted || watermark <= now + LIMIT))
#define P14_settled_stays_settled(t) CHECKED(14, !over[t])

inline settleTick(n) {
	P14_settled_stays_settled(c[n].tick);
	open[c[n].tick] = false; over[c[n].tick] = true;
	if
	:: order[0] > 0 -> settled[order[0]] = false
	:: else
	fi;
	for (j : 1 .. REMEMBERED - 1) { order[j - 1] = order[j] }
	order[REMEMBERED - 1] = c[n].tick; settled[c[n].tick] = true;
	j = 0
}

inline raise(n, k) {
	if
	:: k > watermark -> watermark = k; P13_no_further_than_plausible(n)
	:: else
	fi
}

#ifdef BROKEN_REPAIR_WATERMARK_ANYWHERE
#define KNOWN(n) c[n].known
#else
#define KNOWN(n) (c[n].known <= MINE(n) + LIMIT -> c[n].known : 0)
#endif
#define LATE (STORE > c[n].until)
#ifdef BROKEN_REPAIR_NO_EXCEPTIONS
#define EXCEPT(t) false
#else
#define EXCEPT(t) except[t]
#endif

proctype Run(byte n) {
end:
	do
	/* It accepts the clock as it is. */
#ifdef ACCEPTS
	:: atomic { c[n].at == NONE && !c[n].late && c[n].offset != off -> c[n].offset = off; accepted = accepted || off > 0 }
#elif defined(BROKEN_REPAIR_TRUSTS_AT_ONCE)
	:: atomic { c[n].at == NONE && c[n].offset != off -> c[n].offset = off }
#endif
	/* A sync brings what it knows. Where that lies ahead, it takes the store's in its place. */
	:: atomic { c[n].at == NONE && c[n].known != watermark -> d_step {
		c[n].brought = KNOWN(n); raise(n, c[n].brought); c[n].brought = 0;
		c[n].known = watermark } }
	/* The next tick, when it is due by its idea of the time. */
	:: atomic { c[n].at == NONE && !c[n].late && c[n].known < MINE(n) && MINE(n) <= LAST ->
		c[n].tick = c[n].known + 1;
		c[n].brought = KNOWN(n);
		c[n].until = MINE(n) + LIMIT;
		c[n].at = CLAIM }
	:: atomic { c[n].at == CLAIM -> d_step {
		if
		:: LATE -> c[n].at = NONE
		:: else ->
			raise(n, c[n].brought);
			if
			:: open[c[n].tick] || STORE < c[n].tick -> c[n].at = NONE
			:: else ->
				if
				:: EXCEPT(c[n].tick) && c[n].tick > watermark -> raise(n, c[n].tick); c[n].at = NONE
				:: !(EXCEPT(c[n].tick) && c[n].tick > watermark) && c[n].tick <= watermark -> c[n].at = NONE
				:: !EXCEPT(c[n].tick) && c[n].tick > watermark ->
					P14_settled_stays_settled(c[n].tick);
					raise(n, c[n].tick);
					open[c[n].tick] = true; holder[c[n].tick] = n;
					printf("client %d: is granted tick %d at %d, of a clock that is ahead by %d\n", n, c[n].tick, now, off);
					c[n].at = SETTLE
				fi
			fi;
			c[n].known = MAX(c[n].known, watermark)
		fi;
		c[n].brought = 0; c[n].until = 0 } }
	/* Renewals and settlements have no bound. What the store does not know, and its watermark is not past, it has
	 * forgotten, and settles. */
	:: atomic { c[n].at == SETTLE || c[n].late -> d_step {
		if
		:: open[c[n].tick] && holder[c[n].tick] == n -> settleTick(n); printf("client %d: settles %d\n", n, c[n].tick)
		:: !open[c[n].tick] && !settled[c[n].tick] && c[n].tick > watermark && !EXCEPT(c[n].tick) ->
			raise(n, c[n].tick); settleTick(n); printf("client %d: settles %d, which was forgotten\n", n, c[n].tick)
		:: else
		fi;
		c[n].late = !c[n].late && c[n].at == SETTLE };
		if
		:: c[n].late
		:: c[n].late = false
		fi;
		if
		:: c[n].late -> skip
		:: else -> c[n].tick = 0
		fi;
		c[n].at = NONE }
	od
}

proctype World() {
end:
	do
	:: atomic { now < REAL -> now++ }
	:: atomic { jumps < 2 && off == 0 -> off = JUMP; jumps++; printf("the clock jumps ahead\n") }
	:: atomic { jumps < 2 && off > 0 -> off = 0; jumps++; printf("the clock is right again\n") }
	:: atomic { repairs < 1 && watermark > STORE + LIMIT -> d_step {
		repairs++;
		for (j : 1 .. LAST) {
			except[j] = j > STORE && (settled[j] || open[j])
		}
		j = 0;
		watermark = STORE;
		printf("a repair: the watermark is %d\n", watermark) } }
	od
}

init {
	atomic {
		for (j : 0 .. CLIENTS - 1) { run Run(j) }
		j = 0;
		run World()
	}
}
