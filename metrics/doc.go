// Package metrics turns the events of a scheduler, and those of locks, into Prometheus series.
//
//	m := metrics.New()
//	s, err := scheduler.New(store, registry, scheduler.WithSyncObserver(m.Observe))
//	...
//	m.Watch(s) // and after each s.Update
//	err = prometheus.Register(m)
//
// Locks have metrics of their own, which need no scheduler:
//
//	m := metrics.NewLocks()
//	locks := lock.New(store, lock.WithSyncObserver(m.Observe))
//	err = prometheus.Register(m)
//
// Every replica exports what it did itself. Sums over the replicas are what the fleet did, and each
// tick that is settled is counted by one of them.
//
// # Series
//
// All names begin with solotick_. Those of the jobs that are watched start at 0, so that the first
// increase is seen. Of more than 1000 jobs only ticks_total of succeeded and failed does, and the
// others start when something happens: a scrape of 10,000 jobs has 5 MB at most. A time that is not known yet has no series. Those of a job that was removed go
// ten minutes after its last run has ended, so that a scrape sees how it ended. The series of its
// last success goes at once.
//
//	name                               type       what it says
//	ticks_total{job,outcome}           counter    ticks that this replica settled: succeeded, failed, skipped, missed, lost, replaced, cancelled
//	misfires_total{reason}             counter    ticks that it settled as missed, by the reasons of docs/policies.md
//	claims_total{job,result}           counter    answers to its claims, such as granted, held or decided
//	run_duration_seconds               histogram  runs, all attempts of one holder, however they ended
//	tick_lag_seconds                   histogram  from the scheduled time to the start, by fleet time
//	runs_in_progress{job}              gauge      runs
//	run_retries_total{job}             counter    attempts that failed and were followed by another
//	takeovers_total{job}               counter    runs of ticks that another holder had begun and not settled
//	max_runs                           gauge      the weight of jobs that it runs at a time; 0 is no limit
//	capacity_reached                   gauge      1 while ticks have to wait for room, and for 10 s after that, else 0
//	capacity_used                      gauge      the weight of the jobs that it runs, and of claims that are pending
//	capacity_waiting_jobs              gauge      jobs with a tick that is due and that it has no room for
//	leases_held                        gauge      leases
//	lease_wait_seconds                 histogram  from a claim to its final answer
//	lease_hold_seconds                 histogram  from the start of a run until its lease was given up
//	lease_margin_seconds               histogram  left of a lease until its deadline when its renewal was answered; native, too
//	lease_renewals_total{result}       counter    leases renewed (kept), refused (fenced, replaced, cancelled), tried in vain (failed), run out (expired)
//	leases_lost_total{reason}          counter    runs that ended undecided: expired, fenced, or unsettled (the store did not take it)
//	redis_commands_total               counter    commands that were sent to Redis
//	store_up                           gauge      1 while the store answers and takes writes, else 0
//	store_overloaded                   gauge      1 while claims wait because the store is slower than they come, and for 10 s after that, else 0
//	events_dropped_total               counter    events that an observer, such as the log, lost: too slow, or it panicked
//	store_forgotten_total              counter    times that the store had lost its records
//	records_behind_total               counter    times that the store had lost what it knew of a job, though not of all
//	records_unreadable_total           counter    times, at most one a minute, that the store held something else where a record belongs
//	clock_steps_total                  counter    times that the store's clock stepped by more than the TTL and 5 s
//	clock_trusted                      gauge      0 while nothing is claimed because the store's clock is not trusted, else 1
//	clock_offset_seconds               gauge      fleet time minus this machine's wall clock
//	next_tick_timestamp_seconds{job}   gauge      the next tick that is not decided
//	job_overdue_seconds{job}           gauge      since a tick had to have begun that neither runs nor is settled, see below; else 0
//	leader{job}                        gauge      1 while this replica runs the leader task, else 0
//	last_success_timestamp_seconds{job} gauge     when a tick last succeeded, as far as it knows, see below
//	last_failure_timestamp_seconds{job} gauge     when a tick last failed, likewise
//	run_failing_seconds{job}           gauge      since when attempts of a run by it fail, two in a row or more; no series while none does
//	replicas                           gauge      replicas of the fleet that live, itself included
//	jobs_unserved                      gauge      jobs of its registry that no live replica serves
//	jobs_differing                     gauge      jobs of its registry that other replicas define differently
//	replica_processes                  gauge      processes that use this replica's id: more than one is a mistake
//	config_reloads_total{result}       counter    times the configuration was read again: applied, unchanged, refused
//	config_last_reload_successful      gauge      1, or 0 when it was refused the last time; no series before the first
//	config_last_reload_timestamp_seconds gauge    when it was last read again and not refused, by fleet time
//	build_info{version}                gauge      1
//
// [WithJobHistograms] gives run_duration_seconds and tick_lag_seconds the label job.
//
// A leader task has no ticks, and no series about them. Its own are runs_in_progress,
// run_duration_seconds, run_retries_total (it ended, and was started again), run_failing_seconds
// and leader.
//
// A replica knows how a tick ended that it has settled, and how the newest one had ended that
// succeeded or failed when it read the record, as it does at its start. So the greatest value over
// the replicas counts, and a deploy loses nothing. A job fails when its last failure is newer than
// its last success.
//
// A job is overdue when a tick had to have begun by its schedule, jitter and misfire grace. The
// tick neither runs nor is settled, as far as this replica knows. It is not while it is paused, or
// while an earlier tick of it runs that the next has to wait for. After that run the grace begins
// again. It is while the store is away, its clock in doubt, or no replica has room. A job whose
// groups this replica does not serve has no series here, and one that nobody serves has none: see
// jobs_unserved. The fleet's answer is the least of the replicas' answers, since one that is cut
// off from the store knows no better.
//
// The label job is bounded by the configuration; no other label takes more than a dozen values.
//
// # Series of locks
//
// Locks are named by their users, often with a key in the name. So the label lock is empty unless
// [WithLockLabel] says what it is. Its series start at 0 when something is learned of it for the
// first time; those of the empty label at once.
//
//	name                                       type       what it says
//	lock_acquisitions_total{lock}              counter    locks that were granted
//	lock_failures_total{lock,reason}           counter    locks that were not: held, timeout or cancelled (the context; a timeout may be the store's), closed, error
//	lock_waits_total{lock}                     counter    acquisitions that had to wait
//	lock_wait_seconds{lock}                    histogram  from asking until the grant
//	lock_hold_seconds{lock}                    histogram  from the grant until the lock was released or lost
//	locks_lost_total{lock,reason}              counter    locks lost while they were held: expired, fenced, max_hold
//	lock_takeovers_total{lock}                 counter    holds of others that had run out, and made room
//	lock_renewal_margin_seconds{lock}          histogram  rest of the lease when it was renewed
//	lock_release_failures_total{lock,reason}   counter    releases that failed: fenced (it was not held any more), error
//
// A context that was cancelled with a cause of its own counts as held when another held the lock,
// else as an error.
//
// # Series of notifications
//
// [NewNotifications] makes those of a notify.Notifier. The label receiver is bounded by the
// configuration.
//
//	name                                        type     what it says
//	notifications_sent_total{receiver}          counter  notifications that the receiver has taken from this replica
//	notification_failures_total{receiver}       counter  tries that have failed
//	notifications_waiting_jobs{receiver}        gauge    jobs with a notification that it has not taken; 0 where another replica notifies
//	notifications_waiting_seconds{receiver}     gauge    how long the oldest of them has waited, else 0
//
// # Alerts worth having
//
//	min by (job) (solotick_job_overdue_seconds) > 60               a job does not run though it should
//	solotick_store_up == 0                                         nothing starts
//	increase(solotick_ticks_total{outcome!="succeeded"}[1h]) > 0   ticks fail, or do not run
//	solotick_run_failing_seconds > 300                             a leader task, or a run with many attempts, fails all the time
//	time() - max by (job) (solotick_last_success_timestamp_seconds) > the longest time you can be without
//	sum by (job) (solotick_leader) != 1                            nobody runs the leader task, or a replica is cut off
//	solotick_jobs_unserved > 0                                     no replica of their groups lives
//	solotick_config_last_reload_successful == 0                    the file is wrong; an older one is in force
//	solotick_jobs_differing > 0, for longer than a deploy          replicas run by different files
//	abs(solotick_clock_offset_seconds) > 1                         this machine's clock is wrong; its schedule is not
//	max by (receiver) (solotick_notifications_waiting_seconds) > 900   a receiver does not take its notifications
//	increase(solotick_locks_lost_total[1h]) > 0                    the store was away for a TTL, or this process froze
package metrics
