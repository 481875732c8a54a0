package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

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
	s, err := New(new(memlease.Store), &registry, WithReplica("self"), WithTTL(time.Hour))
	require.NoError(b, err)
	s.trust.Begin(0, 0, true, clock.MemberClocks{})
	outrank(s)
	list := s.jobs.Load().contenders
	for _, c := range list {
		c.Read(protocol.Record{Watermark: 1}, 0, 0)
		c.locked(c.rescheduleLocked)
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += atOnce {
		tick := 60_000 * int64(1+done/count)
		p := reports.Message{Since: s.remembersSince().UnixMicro(), Replica: "replica-0", Instance: "another"}
		for _, c := range list[done%count : done%count+atOnce] {
			p.Reports = append(p.Reports, reports.Report{Kind: reports.Settled, Job: c.Name, Tick: tick, Watermark: true})
		}
		for _, message := range p.Encode() {
			s.received(message)
		}
	}
}
