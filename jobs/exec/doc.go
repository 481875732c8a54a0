// Package exec is the kind of job that runs a command, in a process group of its own, under a
// supervisor.
//
// A handler cannot keep its lease's deadline by itself. A worker that is killed leaves its children
// behind, and one that is frozen lets them run on while another replica is granted the tick. So no
// command is a child of the worker: all are children of its supervisor. That is one process,
// started at the worker's first run, in a session of its own. Only a socket pair joins it to the
// worker.
//
//	worker                            supervisor                           command
//	  ├─ start(args, env, deadline) ────►│ refused when the deadline is past
//	  │                                  ├─ fork, process group, exec ────────►│
//	  │◄──────────────────── started(pid)┤◄──────────────────── output, always ┤
//	  ├─ extend(deadline) ──────────────►│                                     │
//	  ├─ stop(grace) ───────────────────►├─ SIGTERM ──────────────────────────►│
//	  │                                  ├─ SIGKILL, after grace or at the ───►│
//	  │                                  │  deadline, whichever is first
//	  │◄────── end(status, reason, tail) ┤ once no process of the run lives
//
// This package is the worker's side. The supervisor's side is internal/supervisor, and
// internal/protocol has their messages.
//
// # Deadlines
//
// A run's deadline is its lease's. It travels as a reading of the boot clock, which is the same for
// all processes and goes on while a machine is suspended. The worker reads that clock before it
// asks how long the lease still lasts, so that being frozen in between can only make the deadline
// earlier.
//
// An extension moves the deadline of a run that still lives; for any other run it means nothing. A
// run that is not extended gets SIGTERM before its deadline, by the shorter of two times. One is
// its kill grace; the other is an eighth of the time between the last extension and the deadline. A
// long grace must not end runs at each short absence of Redis, nor may it move the deadline. At the
// deadline its whole process group is killed. A run that got SIGTERM and is then extended goes on
// if its command ignored the signal. Its error matches [jobs.ErrLeaseEnding] all the same. Exit
// code 0 may mean that the command had done its work or that it obeyed the signal; so the tick is
// left for another attempt.
//
// When the handler's context ends, the supervisor stops the run: SIGTERM, then SIGKILL after the
// kill grace or at the deadline, whichever comes first. There is no grace if the lease is no longer
// valid by then.
//
// # The end of a run
//
// A run is over when its main process, the group leader, has ended. The supervisor then kills the
// rest of the group. It also kills processes that moved to a group or session of their own. It is a
// subreaper, so they become its children as soon as their parents have ended. The variable
// SOLOTICK_SUPERVISED_RUN in their environment is the tag of their run. The handler returns after
// all that, so a command leaves nothing in the background that outlives the lease. One exception: a
// process that hides the variable is killed when every run that could have started it is over.
//
// # Output
//
// The supervisor reads both streams at all times, whether or not the worker reads its reports. It
// keeps the last 20 lines, at most 4 KiB, for the error of a run that fails. It passes every line
// on to the worker's logger. If the worker is too slow, lines are dropped and counted; ends of runs
// never are.
//
// # Checkpoints
//
// A command writes lines to the descriptor that SOLOTICK_CHECKPOINT_FD names, at most 4,095 bytes
// each: POSITION, or POSITION, PERCENT and TEXT with tabs in between. The newest is where the next
// attempt goes on, which has POSITION as SOLOTICK_POSITION. A line that is longer is logged as an
// error, and the one before stays. See [jobs.Run.Checkpoint] for when a position is written.
//
// # When something fails
//
//	what fails                  what happens
//	worker killed or crashed    the socket ends: the supervisor kills all groups and all its other
//	                            children at once, and exits
//	worker frozen (SIGSTOP)     nothing is extended: each run is ended by its deadline; the ends wait
//	                            in the supervisor, and the handlers return them when the worker thaws
//	supervisor killed           the kernel kills the group leaders (parent-death signal); the worker
//	  or crashed                kills their groups and every process with a tag of that supervisor;
//	                            the runs fail; the next run starts a new supervisor
//	supervisor frozen           the worker kills the groups of overdue runs itself, and 5 s later the
//	                            supervisor: as above
//	machine suspended           the deadlines pass meanwhile, and are kept first thing on waking
//	both killed at once         the kernel kills the group leaders; other processes may live on
//	command does not start      the run fails, with the reason
//	its start hangs             (its file system does) groups are killed in time, but processes that
//	                            left them wait, and so do later starts; 5 s after that run's
//	                            deadline the supervisor is replaced, as above
//	a pipe is held by others    the end is reported 250 ms after the last process of the run
//	a process does not die      (in a system call that cannot be interrupted) the end is reported 2 s
//	                            after the kill
//	logger blocks               lines are dropped, handlers return late; deadlines are kept
//
// # Limits
//
//   - A group leader that changes its credentials (sudo, setuid programs) loses the parent-death
//     signal. Only a supervisor with the permission to signal it can kill it.
//   - A process that leaves its group and clears or overwrites its environment cannot be
//     distinguished from that of another run. It may live until every run that was already there
//     when it started has ended.
//   - Subreapers, orphans and the parent-death signal are Linux (the latter FreeBSD too). Elsewhere
//     the supervisor kills the process group and nothing beyond it.
//   - A service manager that stops a service by signalling all its processes (systemd's
//     KillMode=control-group) signals the commands too. The supervisor ignores SIGTERM, SIGINT and
//     SIGHUP: it ends when its worker has.
package exec
