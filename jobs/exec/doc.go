// Package exec is the kind of job that runs a command, in a process group of its own, under a guard.
//
// A handler cannot keep its lease's deadline by itself: a worker that is killed leaves its children behind, and one that
// is frozen lets them run on while another replica is granted the tick. So no command is a child of the worker. All are
// children of its guard: one process, started at the worker's first run, in a session of its own, joined to the worker
// by a socket pair and to nothing else.
//
//	worker                            guard                                command
//	  ├─ start(args, env, deadline) ────►│ refused when the deadline is past
//	  │                                  ├─ fork, process group, exec ────────►│
//	  │◄──────────────────── started(pid)┤◄──────────────────── output, always ┤
//	  ├─ extend(deadline) ──────────────►│                                     │
//	  ├─ stop(grace) ───────────────────►├─ SIGTERM ──────────────────────────►│
//	  │                                  ├─ SIGKILL, after grace or at the ───►│
//	  │                                  │  deadline, whichever is first
//	  │◄────── end(status, reason, tail) ┤ once nothing of the run is left
//
// # Deadlines
//
// A run's deadline is its lease's. It crosses the border between the processes as a reading of the boot clock, which is
// the same for all processes and goes on while a machine is suspended. The worker reads that clock before it asks how
// long the lease still lasts, so that being frozen in between can only make the deadline earlier.
//
// An extension moves the deadline of a run that still lives; for any other run it means nothing. A run that is not
// extended is told with SIGTERM before its deadline, by its kill grace or by an eighth of the time between the last
// extension and the deadline, whichever is shorter: a long grace must not end runs at each short absence of Redis, nor
// may it move the deadline. At the deadline its whole process group is killed. A run that was told and then extended
// goes on if its command ignored the signal. Its error matches [jobs.ErrLeaseEnding] all the same, for nobody can tell an
// exit code 0 that means done from one that means stopped as told; so the tick is left for another attempt.
//
// When the handler's context ends, the guard is told to stop the run: SIGTERM, then SIGKILL after the kill grace or at
// the deadline, whichever comes first. There is no grace if the lease is no longer valid by then.
//
// # The end of a run
//
// A run is over when its main process, the leader of its group, has ended. What is left of its group is killed then. So
// are the processes that moved to a group or session of their own: the guard is a subreaper, so they become its
// children as soon as their parents have ended, and it knows them by a variable in the environment they were started
// with (SOLOTICK_GUARD_RUN). The handler returns after all that, so what a command leaves in the background does not outlive
// the lease. One exception: a process that hides the variable is killed when no run is left that could have started it.
//
// # Output
//
// The guard reads both streams at all times, whether or not the worker listens. It keeps the last 20 lines, at most
// 4 KiB, for the error of a run that fails, and passes every line on to the worker's logger. If the worker does not keep
// up, lines are dropped and counted; ends of runs never are.
//
// # When something fails
//
//	what fails                   what happens
//	worker killed or crashed     the socket ends: the guard kills all groups and all its other children at once, and exits
//	worker frozen (SIGSTOP)      nothing is extended: each run is told and killed by its deadline; the ends wait in the
//	                             guard, and the handlers return them when the worker thaws
//	guard killed or crashed      the kernel kills the leaders (parent-death signal); the worker kills their groups and
//	                             everything that carries the guard's mark; the runs fail; the next one gets a new guard
//	guard frozen                 the worker kills the groups of overdue runs itself, and 5 s later the guard: as above
//	machine suspended            the deadlines pass meanwhile, and are kept first thing on waking
//	both killed at once          the kernel kills the leaders; processes that they started may live on
//	command does not start       the run fails, with the reason
//	its start hangs              (its file system does) groups are killed in time, but processes that left them wait, and so
//	                             do later starts; 5 s after that run's deadline the guard is replaced, as above
//	a pipe held open by others   the end is reported 250 ms after everything of the run is gone
//	a process that will not die  (in a system call that cannot be interrupted) the end is reported 2 s after the kill
//	logger blocks                lines are dropped, handlers return late; deadlines are kept
//
// # What is not promised
//
//   - A leader that changes its credentials (sudo, setuid programs) loses the parent-death signal, and only a guard that
//     may signal it can kill it.
//   - A process that leaves its group and clears or overwrites its environment cannot be told from that of another run.
//     It may live until every run that was already there when it started has ended.
//   - Subreapers, orphans and the parent-death signal are Linux (the latter FreeBSD too). Elsewhere the guard kills the
//     process group and nothing beyond it.
//   - Whoever stops a service by signalling all its processes (systemd's KillMode=control-group) signals the commands
//     too. The guard ignores SIGTERM, SIGINT and SIGHUP: it ends when its worker has.
package exec
