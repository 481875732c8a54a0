/* Outages of the whole store: a holder of a tick and another replica that asks for it lose the store together and find it
 * again at different times; the run succeeds meanwhile. The record is one lease: what lease.pml checks is left out.
 * README.md says how this corresponds to the code.
 *
 * Time is relative, as in step.pml. A unit is a sixth of the TTL.
 */

#define TTL 6
#define RENEW 2          /* the holder renews every third of the TTL */
#define GAP 2            /* between answers: a longer one ends the contact */
#define RETURN 3         /* a client whose connection broke is answered within it, once the store is back */
#ifndef GRACE
#define GRACE (RETURN + 1)
#endif
#ifdef FLAPS             /* the store may leave again before everybody is back */
#define STAYS 0
#else
#define STAYS (RETURN + 1)
#endif
#define MOST (TTL + GRACE) /* an older contact is as good */

bool up = true, frozen;
byte stays;              /* for how long the store remains at least */
short left = TTL;        /* of the lease; 0 or less: it has run out */
bool ended;              /* it was settled, taken over or released, or the holder has died */

/* The holder. */
bool runs = true;
bool done;               /* its run succeeded, and it has not settled the tick */
byte may = TTL - 1;      /* for how long it may run */
bool hBroken;            /* its connection broke after its last answer */
byte out;                /* time since its last answer in which the store would have answered */
bool cut;                /* it alone is cut off, with CUT */

/* The other. */
bool broken;
byte silent;             /* time since its last answer */
byte contact;            /* for how long the store has answered without a gap */
bool asked;              /* a claim is under way */
bool takes;              /* it was sent in contact */
byte age;                /* since the last answer before it was sent */
byte sent;               /* how old the last answer was then */
byte since;              /* the contact that it names, by now */

#define CHECKED(n, holds) assert(!(PROPS & (1 << n)) || (holds))
#define ANSWERS (up && !frozen)
#define MORE(x, most) x = (x < most -> x + 1 : most)
/* A holder calls in time, and at once when it has an outcome to settle. */
#define BY (hBroken -> RETURN : (done -> 1 : RENEW))
#define IN_TIME (!(runs || done) || !ANSWERS || cut || out < BY)

#ifdef BROKEN_OUTAGE_LATE
#define SOON true
#elif defined(BROKEN_OUTAGE_SENT) /* counts from when it was sent */
#define SOON (age <= GAP + sent)
#else
#define SOON (age <= GAP)
#endif
#ifdef BROKEN_OUTAGE
#define MAY_END true
#else
#define MAY_END (takes && SOON && (since >= TTL - left || since >= GRACE))
#endif
#ifdef BROKEN_OUTAGE_GAPS
#define GAPPED false
#else
#define GAPPED (broken || silent > GAP)
#endif

inline answered() { contact = (GAPPED -> 0 : contact); broken = false; silent = 0 }

active proctype Holder() {
end:
	do
	:: atomic { runs && ANSWERS && !cut -> d_step {
		hBroken = false; out = 0;
		if
		:: !ended -> left = TTL; may = TTL - 1
		:: else -> runs = false; may = 0
		fi } }
	:: atomic { runs && may > 0 -> runs = false; may = 0; done = true; printf("the run has succeeded\n") }
	:: atomic { runs && may == 0 -> runs = false; ended = true } /* its context ends */
	:: atomic { done && ANSWERS && !cut -> done = false; ended = true; printf("the tick is settled\n") }
	:: atomic { runs || done -> runs = false; done = false; may = 0; ended = true; printf("the holder dies\n") }
	od
}

active proctype Other() {
end:
	do
	:: atomic { ANSWERS && !ended && (silent > 0 || broken) -> d_step { answered() } } /* whatever it asks */
	:: atomic { !asked && !ended -> d_step {
		asked = true; age = silent; sent = silent; since = contact; takes = !broken && silent <= GAP } }
	:: atomic { asked && ANSWERS -> d_step {
		if
		:: ended || left > 0 || !MAY_END
		:: else -> printf("the other takes over\n"); CHECKED(15, !done); ended = true
		fi;
		answered();
		asked = false; takes = false; age = 0; sent = 0; since = 0 } }
	od
}

active proctype World() {
end:
	do
	:: atomic { IN_TIME && !ended -> d_step {
		left = (left > -MOST -> left - 1 : -MOST);
		may = (may > 0 -> may - 1 : 0);
		stays = (stays > 0 && up -> stays - 1 : stays);
		MORE(silent, GAP + 1);
		MORE(contact, MOST);
		out = ((runs || done) && ANSWERS && !cut && out < RETURN -> out + 1 : out);
		if
		:: asked -> MORE(age, GAP + sent + 1); MORE(since, MOST)
		:: else
		fi } }

	/* It is killed: connections break, and what was under way is lost. */
	:: atomic { ANSWERS && stays == 0 && !ended -> d_step {
		up = false; broken = true; hBroken = true; out = 0;
		asked = false; takes = false; age = 0; sent = 0; since = 0;
		printf("the store is gone\n") } }
	:: atomic { !up && !ended -> up = true; stays = STAYS; printf("the store is back\n") }

	/* It is frozen: what was under way is answered late, or was given up and is asked again at once. */
	:: atomic { ANSWERS && stays == 0 && !ended -> frozen = true; printf("the store is frozen\n") }
	:: atomic { frozen && !ended -> frozen = false; stays = STAYS; out = (hBroken || out >= BY -> out : BY - 1);
		printf("the store goes on\n") }
#ifdef CUT
	:: atomic { !cut && !ended -> cut = true; printf("the holder is cut off\n") }
#endif
	od
}
