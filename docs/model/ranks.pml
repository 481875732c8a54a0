/* Who claims a tick, with ranks and reports: see the package comment of scheduler.

   One tick that is due, and N replicas, of which all but one may die at any time. Replica 0 is the preferred owner and acts
   on its own knowledge. The others leave the tick alone while they have a report of it. A report may be lost, and a forged
   one may reach anybody at any time. How long each rank waits is left out: any order of claims is searched.

   Built with -DBROKEN_REPORT_TRUSTED replicas take a report for what the record says; then a forged one loses the tick. */

#define N 3
#define NOBODY N
#define FORGED 2 /* reports at most */

byte holder = NOBODY;  /* the record: who has been granted the tick */
bool settled = false;  /* the record: finally */
byte running = 0;      /* replicas that act as its holder */
byte living = N;
bool alive[N] = true;
bool reported[N] = false;

inline report(from) {
  i = 0;
  do
  :: i < N ->
     if
     :: reported[i] = (i != from) /* it arrives */
     :: skip                      /* it is lost */
     fi;
     i++
  :: i == N -> break
  od;
  i = 0
}

active [N] proctype replica() {
  byte me = _pid;
  byte i = 0;
end:
  do
  :: atomic { alive[me] && !settled && holder == NOBODY && (me == 0 || !reported[me]) ->
       assert(running == 0);
       holder = me; running++;
       report(me) }
  :: atomic { alive[me] && holder == me ->
       assert(!settled);
       settled = true; holder = NOBODY; running--;
       report(me) }
#ifndef BROKEN_REPORT_TRUSTED
  :: atomic { alive[me] && reported[me] && holder == NOBODY && !settled -> /* it has read the record */
       reported[me] = false }
#endif
  od
}

/* A replica dies; what it held runs out. */
active proctype death() {
end:
  do
  :: atomic { living > 1 ->
       if
       :: alive[0] -> alive[0] = false; living--; if :: holder == 0 -> holder = NOBODY; running-- :: else fi
       :: alive[1] -> alive[1] = false; living--; if :: holder == 1 -> holder = NOBODY; running-- :: else fi
       :: alive[2] -> alive[2] = false; living--; if :: holder == 2 -> holder = NOBODY; running-- :: else fi
       fi }
  od
}

active proctype forger() {
  byte left = FORGED;
end:
  do
  :: atomic { left > 0 ->
       left--;
       if
       :: reported[0] = true
       :: reported[1] = true
       :: reported[2] = true
       fi }
  od
}

/* One holder at a time and one outcome are the assertions above. P9: while one replica lives the tick is settled. */
ltl P9_decided_in_the_end { <> settled }
