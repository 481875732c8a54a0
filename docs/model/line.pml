/* The line of those who wait for a lock: internal/record/lock.go with one permit and TurnArrival. Who gives the lock back
 * wakes the first in the line by a message that may be lost, and who waits looks again after a bounded time anyway.
 * README.md says more.
 *
 * A claim and its answer are one step here: what becomes of messages is the business of lease.pml.
 */

#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef TERM /* ticks of the holder's lease */
#define TERM 2
#endif
#ifndef TICKET /* ticks for which a place in the line is kept after a claim */
#define TICKET 2
#endif
#ifndef POLL /* ticks after which who waits claims again, woken or not; less than TICKET, or places are lost */
#define POLL 1
#endif
#define NOBODY WAITERS

mtype { AWAY, WAITS, HOLDS };

typedef Waiter {
	mtype at = AWAY;
	bool woken;
	byte look;   /* ticks until it claims again */
	byte ticket; /* ticks; 0 when it has none */
	bool failed; /* its last claim was not answered */
	bool dead
}

Waiter w[WAITERS];
byte holder = NOBODY;
byte left;            /* of the holder's lease */
byte line[WAITERS];   /* who has a ticket, in order; NOBODY behind the last */
hidden byte i, k, first;

/* Leaves the line, keeping the order of the others. */
inline leave(n) {
	k = 0;
	for (i : 0 .. WAITERS - 1) {
		if
		:: line[i] != n && line[i] != NOBODY -> line[k] = line[i]; k++
		:: else
		fi
	}
	for (i : k .. WAITERS - 1) { line[i] = NOBODY }
}

#ifdef BROKEN_TICKETS_NEVER_END
#define KEEPS(n) true
#else
#define KEEPS(n) (w[n].ticket > 0)
#endif
#ifdef BROKEN_NOBODY_IS_BEHIND
#define BEHIND(n) false
#else
#define BEHIND(n) (first != NOBODY && first != n)
#endif

inline findFirst() {
	first = NOBODY;
	for (i : 0 .. WAITERS - 1) {
		if
		:: first == NOBODY && line[i] != NOBODY && KEEPS(line[i]) -> first = line[i]
		:: else
		fi
	}
}
inline claim(n) {
	if
	:: w[n].at == WAITS && w[n].ticket == 0 -> leave(n) /* it has lost its place */
	:: else
	fi;
	findFirst();
	if
	:: !BEHIND(n) && (holder == NOBODY || left == 0) ->
		leave(n);
		holder = n; left = TERM;
		w[n].at = HOLDS; w[n].ticket = 0; w[n].look = 0
	:: else ->
		if
		:: w[n].ticket == 0 ->
			leave(n);
			for (i : 0 .. WAITERS - 1) {
				if
				:: line[i] == NOBODY -> line[i] = n; break
				:: else
				fi
			}
		:: else
		fi;
		w[n].at = WAITS; w[n].ticket = TICKET; w[n].look = POLL
	fi;
	w[n].woken = false;
	if
	:: w[n].at == HOLDS -> printf("waiter %d: claims, and holds\n", n)
	:: else -> printf("waiter %d: claims, and waits\n", n)
	fi
}

#ifdef BROKEN_NO_POLL
#define LOOKS(n) w[n].woken
#else
#define LOOKS(n) (w[n].woken || w[n].look == 0)
#endif

proctype Wait(byte n) {
end:
	do
	:: atomic { w[n].at == AWAY -> d_step { claim(n) } }
	:: atomic { w[n].at == WAITS && LOOKS(n) -> d_step { claim(n) } }
	:: atomic { w[n].at == HOLDS ->
		if
		:: d_step { holder == n ->
			holder = NOBODY; left = 0;
			findFirst();
			if
			:: first != NOBODY -> w[first].woken = true
			:: else
			fi;
			w[n].at = AWAY;
			printf("waiter %d: releases, and wakes the first in the line\n", n) }
		:: d_step { holder == n -> /* the message is lost */
			holder = NOBODY; left = 0; w[n].at = AWAY;
			printf("waiter %d: releases, and wakes nobody\n", n) }
		:: holder != n -> w[n].at = AWAY /* its lease ran out, and another has it */
		fi }
	:: n == 0 && w[0].at != AWAY -> d_step { w[0].dead = true; printf("waiter 0 dies\n") }; break
	od
}

/* Who waits is late when time passes although it has reason to look. That may happen LATE times in all: those who are always
 * late lose their places to each other for ever. */
#define DUE(n) (!w[n].dead && w[n].at == WAITS && LOOKS(n))
#define IN_TIME (!DUE(0) && !DUE(1) && !DUE(2))
#ifdef LIMIT_ALWAYS_LATE
#define LATE 1
#define SPEND skip
#else
#ifndef LATE
#define LATE 2
#endif
#define SPEND late--
#endif
byte late = LATE;

#define LESS(x) x = (x > 0 -> x - 1 : 0)

inline tick() {
	for (i : 0 .. WAITERS - 1) { LESS(w[i].ticket); LESS(w[i].look) }
	LESS(left);
	printf("a tick\n")
}

proctype Clock() {
end:
	do
	:: d_step { IN_TIME -> tick() }
	:: d_step { !IN_TIME && late > 0 -> SPEND; tick() }
	od
}

init {
	atomic {
		for (i : 0 .. WAITERS - 1) { line[i] = NOBODY }
		for (i : 0 .. WAITERS - 1) { run Wait(i) }
		run Clock()
	}
}

#define SOMEBODY_WAITS (w[1].at == WAITS || w[2].at == WAITS)
#define SOMEBODY_HOLDS ((w[0].at == HOLDS && !w[0].dead) || w[1].at == HOLDS || w[2].at == HOLDS)

/* Whatever gets lost and whoever dies, the lock does not lie idle for ever while somebody waits for it. */
ltl P10_no_lost_wakeup { [] (SOMEBODY_WAITS -> <> SOMEBODY_HOLDS) }
/* Who waits in line, and is not late, gets its turn. */
ltl P11_everyone_in_turn { [] (w[1].at == WAITS -> <> (w[1].at == HOLDS)) }
