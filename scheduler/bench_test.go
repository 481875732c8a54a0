package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// BenchmarkFire takes due contenders out of the timers and sets them again, with many more that are
// not due.
func BenchmarkFire(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint("schedules=", n), func(b *testing.B) {
			t := newTimers()
			for range n {
				t.set(&contender{index: -1}, 1+rand.Int64N(1_000_000))
			}
			var due []*contender
			now := int64(0)
			b.ResetTimer()
			for fired := 0; fired < b.N; {
				_, next := t.due(now, due)
				now = next
				due, _ = t.due(now, due)
				for _, c := range due {
					t.set(c, now+1+rand.Int64N(1_000_000))
				}
				fired += len(due)
			}
		})
	}
}

// BenchmarkReports takes in reports of ticks that another of 20 replicas has settled, 500 jobs in
// each message.
func BenchmarkReports(b *testing.B) {
	const count, atOnce = 10_000, 500
	var registry jobs.Registry
	for i := range count {
		job, err := jobs.New(fmt.Sprint("job-", i), "* * * * *", func(context.Context, jobs.Run) error { return nil })
		require.NoError(b, err)
		require.NoError(b, registry.Add(job))
	}
	s, err := New(new(memlease.Store), &registry, WithReplica("self"))
	require.NoError(b, err)
	s.trust.state = clockTrusted
	members := []member{{id: "self", weight: 1e-3}}
	for i := range 19 {
		members = append(members, member{id: fmt.Sprint("replica-", i), weight: 1})
	}
	s.peers.ranking.Store(newRanking("self", members))
	s.peers.readAt.Store(int64(time.Hour)) // for long enough
	list := s.jobs.Load().contenders
	for _, c := range list {
		c.synced, c.cursor = true, cursor{}.advance(0, c.tickAfter)
		c.reschedule()
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += atOnce {
		tick := 60_000 * int64(1+done/count)
		p := progress{since: s.remembered(), replica: "replica-0", instance: "another"}
		for _, c := range list[done%count : done%count+atOnce] {
			p.reports = append(p.reports, report{kind: progressSettled, job: c.name, tick: tick, watermark: true})
		}
		for _, message := range p.encode() {
			s.received(message)
		}
	}
}
