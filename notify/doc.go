// Package notify sends a notification when the condition of a job changes. It failed, was lost or
// missed, is overdue, is served by no replica, or is in order again.
//
//	n, err := notify.New(store, []notify.Receiver{
//		{Name: "ops", Kind: notify.Slack, URL: os.Getenv("SLACK_URL")},
//	}, notify.WithJobs(registry.All))
//	...
//	err = n.Run(ctx) // in each replica
//
// # Promises
//
// Each replica runs a [Notifier]; one of them, which the fleet elects, looks at the fleet and
// notifies. A receiver gets each notification at least once, in the order of the job's changes. Its
// id depends on the namespace, the job, the condition and the tick, and not on the replica. So a
// receiver that drops ids which it knows gets each once.
//
//	what happens                            what follows
//	the notifier dies after an answer       the next one sends it again, under the same id
//	the notifier is frozen                  another is elected within a TTL; both may send, under the same id
//	a receiver is away, slow or refuses     it is tried again, later each time, until it answers 2xx; others do not wait for it
//	the store is away                       nothing is sent; the outcomes of that time follow from the job's history
//	replicas have different receivers       the elected one sends to its own
//
// How far each receiver has come with a job is a value in the store. It is changed by
// compare-and-set after the receiver has answered. That value and the job's history decide the next
// notification, so nothing piles up. A receiver that was away gets at most 16 changes of a job, the
// newest, with the number of those that were left out.
//
// # Conditions
//
// The outcomes [Failed], [Lost] and [Missed] count, as often in a row as [WithAfter] says for the
// job. A success after that counts, too ([OK]). Skipped, replaced and cancelled ticks change
// nothing. [Overdue] and [Unserved] are states: they count when they have lasted for [WithConfirm],
// and their end counts too. What a receiver knows already needs no confirmation by the next
// notifier. A state that came and went while nobody could be notified is not sent. A job that is
// paused is neither.
//
// Schedules of a job that lie in the store have their own outcomes, under the name JOB/KEY. The
// notifier knows of a key that a replica has reported by [Notifier.Failed].
//
// # Not promised
//
// A notifier that takes over looks at the newest 12 outcomes of each job. A job that has failed and
// then succeeded 12 times since anybody looked is in order. Outcomes from before a receiver was
// there for the first time are not sent. Whether a job is overdue is judged for the jobs of
// [WithJobs].
package notify
