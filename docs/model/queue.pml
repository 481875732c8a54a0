/* The queue of the waiters for a lock: internal/record/lock.go with one permit and OrderArrival. The holder that releases the
 * lock notifies the first waiter by a message that may be lost, and each waiter claims again after a bounded time anyway.
 * README.md says more.
 *
 * A claim and its answer are one step here: what becomes of messages is the business of lease.pml.
 */

#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef TTL /* units of the holder's lease */
#define TTL 2
#endif
#ifndef WAITER_TTL /* units for which a position in the queue is kept after a claim */
#define WAITER_TTL 2
#endif
#ifndef POLL /* units after which a waiter claims again, notified or not; less than WAITER_TTL, or positions are lost */
#define POLL 1
#endif
#define NOBODY WAITERS

mtype { AWAY, WAITS, HOLDS };

typedef Waiter {
	mtype at = AWAY;
	bool woken;
	byte look;   /* units until it claims again */
	byte place;  /* units; 0 when it has none */
	bool failed; /* its last claim was not answered */
	bool dead
}

Waiter w[WAITERS];
byte holder = NOBODY;
byte left;            /* of the holder's lease */
byte queue[WAITERS];   /* the waiters that have a position, in order; NOBODY behind the last */
hidden byte i, k, first;

/* Leaves the queue, keeping the order of the others. */
inline leave(n) {
	k = 0;
	for (i : 0 .. WAITERS - 1) {
		if
		:: queue[i] != n && queue[i] != NOBODY -> queue[k] = queue[i]; k++
		:: else
		fi
	}
	for (i : k .. WAITERS - 1) { queue[i] = NOBODY }
}

#ifdef BROKEN_WAITERS_NEVER_EXPIRE
#define KEEPS(n) true
#else
#define KEEPS(n) (w[n].place > 0)
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
		:: first == NOBODY && queue[i] != NOBODY && KEEPS(queue[i]) -> first = queue[i]
		:: else
		fi
	}
}
inline claim(n) {
	if
	:: w[n].at == WAITS && w[n].place == 0 -> leave(n) /* it has lost its position */
	:: else
	fi;
	findFirst();
	if
	:: !BEHIND(n) && (holder == NOBODY || left == 0) ->
		leave(n);
		holder = n; left = TTL;
		w[n].at = HOLDS; w[n].place = 0; w[n].look = 0
	:: else ->
		if
		:: w[n].place == 0 ->
			leave(n);
			for (i : 0 .. WAITERS - 1) {
				if
				:: queue[i] == NOBODY -> queue[i] = n; break
				:: else
				fi
			}
		:: else
		fi;
		w[n].at = WAITS; w[n].place = WAITER_TTL; w[n].look = POLL
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
			printf("waiter %d: releases, and notifies the first waiter\n", n) }
		:: d_step { holder == n -> /* the message is lost */
			holder = NOBODY; left = 0; w[n].at = AWAY;
			printf("waiter %d: releases, and notifies nobody\n", n) }
		:: holder != n -> w[n].at = AWAY /* its lease ran out, and another has it */
		fi }
	:: n == 0 && w[0].at != AWAY -> d_step { w[0].dead = true; printf("waiter 0 dies\n") }; break
	od
}

/* A waiter is late when time passes although it has reason to claim. That may happen LATE times in all: waiters that are always
 * late lose their positions to each other for ever. */
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

inline pass() {
	for (i : 0 .. WAITERS - 1) { LESS(w[i].place); LESS(w[i].look) }
	LESS(left);
	printf("a unit of time passes\n")
}

proctype Clock() {
end:
	do
	:: d_step { IN_TIME -> pass() }
	:: d_step { !IN_TIME && late > 0 -> SPEND; pass() }
	od
}

init {
	atomic {
		for (i : 0 .. WAITERS - 1) { queue[i] = NOBODY }
		for (i : 0 .. WAITERS - 1) { run Wait(i) }
		run Clock()
	}
}

#define SOMEBODY_WAITS (w[1].at == WAITS || w[2].at == WAITS)
#define SOMEBODY_HOLDS ((w[0].at == HOLDS && !w[0].dead) || w[1].at == HOLDS || w[2].at == HOLDS)

/* Whatever gets lost and whoever dies, the lock does not lie idle for ever while somebody waits for it. */
ltl P10_no_lost_wakeup { [] (SOMEBODY_WAITS -> <> SOMEBODY_HOLDS) }
/* Each waiter that is not late is granted the lock. */
ltl P11_everyone_is_granted { [] (w[1].at == WAITS -> <> (w[1].at == HOLDS)) }
