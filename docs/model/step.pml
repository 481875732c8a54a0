/* A clock of the store that steps: one lease, clients that compare the store's clock with their own, which never steps.
 * What lease.pml checks of requests and records is left out: a message may be late, but comes once. README.md says how
 * this corresponds to the code.
 *
 * Time is relative: left is what remains of the lease by the store's clock, off how far that is ahead of real time.
 */

#define CLIENTS 2
#ifndef TTL
#define TTL 3
#endif
#ifndef MARGIN
#define MARGIN 1
#endif
#define THIRD 1          /* of the TTL: the bound of a takeover, beyond the claimer's idea of the time */
#define LIMIT TTL       /* of a step that is believed at once */
#define BIG (LIMIT + 1)  /* steps: more than the limit, more than a third, and less */
#define MID 2
#define SMALL 1
#ifndef STEPS            /* how often the clock steps in all */
#define STEPS 2
#endif
#ifndef STEP
#define STEP BIG
#endif
#define NEVER (LOWEST - 1) /* the bound of a claim that takes nothing over */
#define CAP TTL         /* of a message's age: older ones count as no older, which lets more of them pass */
#define LEAST (steps < STEPS && off > LOWEST -> LOWEST - off : 0) /* what has run out for longer does not come back */
#ifdef BACK              /* the clock steps back from what it was, and not ahead */
#define LOWEST (-STEP)
#define HIGHEST 0
#else
#define LOWEST 0
#define HIGHEST STEP
#endif

#ifdef BROKEN_STEP_NO_QUIET
#define QUIET 0
#else
#define QUIET TTL
#endif
#ifdef BROKEN_STEP_RETURN_NO_QUIET
#define RETURN_QUIET 0
#else
#define RETURN_QUIET QUIET
#endif
#ifdef BROKEN_STEP_ACCEPT_NO_QUIET
#define ACCEPT_QUIET 0
#else
#define ACCEPT_QUIET QUIET
#endif
#ifdef UNBOUND
#define TAKES(n) true
#else
#define TAKES(n) (off + c[n].age <= c[n].until)
#endif
#ifndef STEADY           /* for how long a clock is steady before it is accepted */
#define STEADY LIMIT
#endif

mtype { NONE, ASKED, GRANTED, REFUSED, RENEWED };

typedef Client {
	bool held;       /* it does not trust the clock, and claims nothing */
	short offset;    /* that it trusts, or trusted last */
	short seen;      /* that it sees while it holds */
	byte steady;     /* for how long */
	bool looked;     /* since the last unit */
	bool saw = true; /* it has looked since the last step, and had nothing under way */
	byte quiet;      /* for how long it takes nothing over */
	mtype claim = NONE, renewal = NONE;
	byte age, rAge;  /* since they were sent */
	short until;     /* until when the claim takes over, less real time when it was sent */
	byte left;       /* how long it believes that it holds: 0, not at all */
	bool holds       /* and has not ended its work */
}
Client c[CLIENTS];

short off;           /* of the store's clock */
byte steps;
bool taken;          /* somebody was granted it */
byte holder;
short left;          /* of the lease; 0 or less: it has run out */

#define BELIEVES(n) (c[n].holds && c[n].left > 0)
#define BELIEVERS (BELIEVES(0) + BELIEVES(1))
#define CHECKED(n, holds) assert(!(PROPS & (1 << n)) || (holds))
#define LESS(x) x = (x > 0 -> x - 1 : 0)
#define MORE(x, most) x = (x < most -> x + 1 : most)
#define AWAY(a, b) ((a) > (b) -> (a) - (b) : (b) - (a))
#define REMAINS(age) (TTL > MARGIN + (age) -> TTL - MARGIN - (age) : 0)

hidden byte j;

/* trust.look, and trust.accept. */
inline look(n) {
	c[n].looked = true; c[n].saw = c[n].saw || c[n].claim != ASKED;
	if
	:: !c[n].held && AWAY(off, c[n].offset) <= LIMIT ->
		if
		:: off - c[n].offset > THIRD -> c[n].quiet = QUIET
		:: else
		fi;
		c[n].offset = off
	:: !c[n].held && AWAY(off, c[n].offset) > LIMIT ->
		printf("client %d: sees the clock step from %d to %d\n", n, c[n].offset, off);
		c[n].held = true; c[n].seen = off; c[n].steady = 0
	:: c[n].held && off == c[n].offset ->
		printf("client %d: sees that it is right again\n", n);
		c[n].held = false; c[n].seen = 0; c[n].steady = 0; c[n].quiet = RETURN_QUIET
	:: c[n].held && off != c[n].offset && off == c[n].seen && c[n].steady >= STEADY ->
		printf("client %d: accepts the clock as it is\n", n);
		c[n].held = false; c[n].offset = off; c[n].seen = 0; c[n].steady = 0; c[n].quiet = ACCEPT_QUIET
	:: c[n].held && off != c[n].offset && off == c[n].seen && c[n].steady < STEADY
	:: c[n].held && off != c[n].offset && off != c[n].seen -> c[n].seen = off; c[n].steady = 0
	fi
}

proctype Run(byte n) {
end:
	do
	:: atomic { !c[n].looked -> d_step { look(n) } }

	/* Whether it knows of a holder makes no difference. */
	:: atomic { c[n].claim == NONE && !c[n].holds && !c[n].held ->
		if
		:: c[n].quiet == 0 -> c[n].until = c[n].offset + THIRD
		:: c[n].quiet > 0 -> c[n].until = NEVER
#ifdef BROKEN_STEP_FIRST_TAKES_OVER
		:: c[n].until = c[n].offset + LIMIT
#endif
		fi;
		c[n].age = 0; c[n].claim = ASKED }
	:: atomic { c[n].claim == ASKED -> d_step {
#ifndef BROKEN_STEP_LEASE_LASTS
		left = (left > TTL -> TTL : left); /* Record.restart */
#endif
		if
		:: taken && (left > 0 || !TAKES(n)) -> c[n].claim = REFUSED
		:: else ->
			taken = true; holder = n; left = TTL; c[n].claim = GRANTED;
			printf("client %d: is granted it, of a clock that is ahead by %d\n", n, off)
		fi;
		CHECKED(12, left <= TTL) } }
	:: atomic { c[n].claim == GRANTED ->
		c[n].claim = NONE; c[n].holds = true; c[n].left = REMAINS(c[n].age); c[n].age = 0; c[n].until = 0;
		printf("client %d: holds it for %d\n", n, c[n].left);
		CHECKED(1, BELIEVERS <= 1) }
	:: atomic { c[n].claim == REFUSED -> c[n].claim = NONE; c[n].age = 0; c[n].until = 0 }

	/* Renewals have no bound, and go on whatever the clock does. One that was sent may arrive after the holder's end. */
	:: atomic { c[n].holds && c[n].left > 0 && c[n].renewal == NONE -> c[n].renewal = ASKED; c[n].rAge = 0 }
	:: atomic { c[n].renewal == ASKED -> d_step {
		if
		:: holder == n -> left = TTL; c[n].renewal = RENEWED
		:: else -> c[n].renewal = REFUSED
		fi } }
	:: atomic { c[n].renewal == RENEWED ->
		if
		:: c[n].left > 0 && REMAINS(c[n].rAge) > c[n].left -> c[n].left = REMAINS(c[n].rAge)
		:: else
		fi;
		c[n].renewal = NONE; c[n].rAge = 0;
		CHECKED(1, BELIEVERS <= 1) }
	:: atomic { c[n].renewal == REFUSED -> c[n].renewal = NONE; c[n].rAge = 0; c[n].left = 0 }

	/* It ends, and lets the lease run out, as the hardest way to end. */
	:: atomic { c[n].holds && c[n].left == 0 && c[n].renewal == NONE -> c[n].holds = false }
	od
}

proctype World() {
end:
	do
	:: atomic { d_step {
		left = (left > LEAST -> left - 1 : LEAST);
		for (j : 0 .. CLIENTS - 1) {
			LESS(c[j].left); LESS(c[j].quiet);
			if
			:: c[j].claim != NONE -> MORE(c[j].age, CAP)
			:: else
			fi;
			if
			:: c[j].renewal != NONE -> MORE(c[j].rAge, TTL)
			:: else
			fi;
			/* A clock is steady when each look shows it so. */
			if
			:: c[j].held && c[j].looked -> MORE(c[j].steady, LIMIT)
#if defined(UNSEEN) || defined(FROZEN)
			:: c[j].held && !c[j].looked -> MORE(c[j].steady, LIMIT)
#else
			:: c[j].held && !c[j].looked -> c[j].steady = 0
#endif
			:: !c[j].held
			fi;
			c[j].looked = false
		} } }
	/* Nobody misses a step altogether, as a process does that was frozen while the clock went to and fro, or a message.
	 * With FROZEN, client 0 does while it claims nothing because of another step. */
#ifdef UNSEEN
#define SEEN true
#elif defined(FROZEN)
#define SEEN ((c[0].saw || c[0].held && c[0].claim != ASKED) && c[1].saw)
#else
#define SEEN (c[0].saw && c[1].saw)
#endif
	:: atomic { steps < STEPS && SEEN ->
		if
		:: off < HIGHEST -> d_step { off = off + STEP; left = left - STEP; printf("the clock steps forward to %d\n", off) }
		:: off > LOWEST -> d_step { off = off - STEP; left = left + STEP; printf("the clock steps back to %d\n", off) }
		fi;
		steps++;
		left = (left > LEAST -> left : LEAST);
		for (j : 0 .. CLIENTS - 1) { c[j].saw = false } }
	od
}

init {
	atomic {
		for (j : 0 .. CLIENTS - 1) { run Run(j) }
		run World()
	}
}
