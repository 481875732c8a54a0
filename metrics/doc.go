// Package metrics turns the events of a scheduler into Prometheus series.
//
//	m := metrics.New()
//	s, err := scheduler.New(store, registry, scheduler.WithObserver(m.Observe))
//	...
//	m.Watch(s)
//	err = prometheus.Register(m)
//
// Every replica exports what it did itself: sums over the replicas are what the fleet did, and each tick that is settled
// is counted by one of them.
//
// # Series
//
// All names begin with solotick_. Those of the jobs that are watched start at 0, so that the first increase is seen; a
// time that is not known yet has no series.
//
//	name                               type       what it says
//	ticks_total{job,outcome}           counter    ticks that this replica settled: succeeded, failed, skipped, missed, lost
//	claims_total{job,result}           counter    answers to its claims, by the words of lease.Status
//	run_duration_seconds{job}          histogram  runs, all attempts of one holder, however they ended
//	tick_lag_seconds{job}              histogram  from the scheduled time to the start, by fleet time
//	runs_in_progress{job}              gauge      runs
//	run_retries_total{job}             counter    attempts that failed and were followed by another
//	takeovers_total{job}               counter    runs of ticks that another holder had begun and not settled
//	leases_held                        gauge      leases
//	lease_wait_seconds                 histogram  from a claim to its final answer
//	lease_hold_seconds                 histogram  from the start of a run until its lease was given up
//	lease_renewals_total{result}       counter    leases renewed (kept), refused (fenced), tried in vain (failed), run out (expired)
//	leases_lost_total{reason}          counter    runs that ended undecided: expired, fenced, or unsettled (the store did not take it)
//	redis_commands_total               counter    commands that were sent to Redis
//	store_up                           gauge      1 while the store answers, else 0
//	store_forgotten_total              counter    times that the store had lost its records
//	clock_offset_seconds               gauge      fleet time minus this machine's wall clock
//	next_tick_timestamp_seconds{job}   gauge      the next tick that is not decided
//	last_success_timestamp_seconds{job} gauge     when this replica last settled a tick as succeeded, by fleet time
//	build_info{version}                gauge      1
//
// The label job is bounded by the configuration; no other label takes more than ten values.
//
// # Alerts worth having
//
//	solotick_store_up == 0                                         nothing starts
//	increase(solotick_ticks_total{outcome!="succeeded"}[1h]) > 0   ticks fail, or do not run
//	time() - max by (job) (solotick_last_success_timestamp_seconds) > the longest time you can be without
//	abs(solotick_clock_offset_seconds) > 1                         this machine's clock is wrong; its schedule is not
package metrics
