package contention

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
)

// processes are stores on one Redis that is away by a round trip, with a connection each.
func processes(t testing.TB, count int, roundTrip time.Duration) []*redislease.Store {
	t.Helper()
	proxy := proxytest.New(t, redistest.Start(t).Addr())
	list := make([]*redislease.Store, count)
	for i := range list {
		client := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
		store, err := redislease.New(client, "default")
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, store.Close()); assert.NoError(t, client.Close()) })
		_, _, err = store.Time(t.Context())
		require.NoError(t, err)
		list[i] = store
	}
	proxy.Delay(roundTrip / 2)
	return list
}

// times are how long calls took.
type times struct {
	mu   sync.Mutex
	list []time.Duration
}

func (l *times) add(began time.Time) {
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, took)
}

func (l *times) quantile(part float64) time.Duration {
	slices.Sort(l.list)
	return l.list[int(part*float64(len(l.list)-1))]
}

func (l *times) report(b *testing.B, what string) {
	b.ReportMetric(float64(l.quantile(0.5).Microseconds())/1000, what+"-p50-ms")
	b.ReportMetric(float64(l.quantile(0.99).Microseconds())/1000, what+"-p99-ms")
	b.ReportMetric(float64(l.quantile(1).Microseconds())/1000, what+"-max-ms")
}

// storm triggers one job from many processes at once, while another job runs every tenth of a
// second. It returns how often the trigger was opened, refused, or failed.
func storm(t testing.TB, stores []*redislease.Store, triggers int, policy protocol.Policy) (answers map[protocol.TriggerStatus]int, failed []error, calls, lag *times) {
	_, err := stores[0].Sync(t.Context(), []protocol.Sync{
		{Name: "busy", Watermark: 1, Revision: "r1", Defines: true, Policy: policy}, {Name: "other", Watermark: 1, Revision: "r1"},
	})
	require.NoError(t, err)
	answers, calls, lag = map[protocol.TriggerStatus]int{}, new(times), new(times)
	var mu sync.Mutex
	var all, others sync.WaitGroup
	ended, start := make(chan struct{}), make(chan struct{})
	others.Go(func() {
		for tick := int64(2); ; tick++ {
			select {
			case <-ended:
				return
			case <-time.After(100 * time.Millisecond):
			}
			c := protocol.Claim{Name: "other", Tick: tick, Holder: "a", Request: protocol.NewRequest(), TTL: time.Minute}
			began := time.Now()
			a, err := stores[0].Claim(t.Context(), c)
			if !assert.Equal(t, []any{nil, protocol.Granted}, []any{err, a.Status}) {
				return
			}
			lag.add(began)
			g := protocol.Grant{Name: c.Name, Tick: tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, TTL: c.TTL}
			assert.NoError(t, stores[0].Settle(t.Context(), g, protocol.OutcomeSucceeded))
		}
	})
	for i := range triggers {
		f, err := fleet.New(stores[i%len(stores)])
		require.NoError(t, err)
		all.Go(func() {
			<-start
			began := time.Now()
			a, err := f.Trigger(t.Context(), "busy", fleet.TriggerOptions{By: "test"})
			calls.add(began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return
			}
			answers[a.Status]++
		})
	}
	close(start)
	all.Wait()
	close(ended)
	others.Wait()
	return answers, failed, calls, lag
}

func TestTriggersOfManyProcessesAreAllAnswered(t *testing.T) {
	const burst = 100
	answers, failed, _, lag := storm(t, processes(t, 20, 20*time.Millisecond), 200, protocol.Policy{Beside: true, Every: time.Hour, Burst: burst})
	require.Empty(t, failed)
	require.Equal(t, map[protocol.TriggerStatus]int{protocol.Opened: burst, protocol.Limited: 200 - burst}, answers)
	require.Less(t, lag.quantile(0.5), 500*time.Millisecond, "another job is not held up")
}

func BenchmarkTriggersAtOnce(b *testing.B) {
	for _, roundTrip := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond} {
		b.Run(fmt.Sprint("processes=20/roundtrip=", roundTrip), func(b *testing.B) {
			for range b.N {
				began := time.Now()
				policy := protocol.Policy{Beside: true, Every: time.Hour, Burst: 100}
				answers, failed, calls, lag := storm(b, processes(b, 20, roundTrip), 200, policy)
				b.ReportMetric(time.Since(began).Seconds(), "s/all")
				b.ReportMetric(float64(answers[protocol.Opened]), "opened")
				b.ReportMetric(float64(answers[protocol.Limited]), "limited")
				b.ReportMetric(float64(len(failed)), "failed")
				calls.report(b, "call")
				lag.report(b, "other-job")
			}
		})
	}
}

// share has processes take units of one limit, each so often.
func share(t testing.TB, stores []*redislease.Store, each int, options ...limit.Option) (failed []error, open int, calls *times) {
	calls = new(times)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, s := range stores {
		l := limit.New(s).Bucket("calls", 10_000_000, time.Second, options...)
		all.Go(func() {
			for range each {
				began := time.Now()
				d, err := l.Allow(t.Context())
				calls.add(began)
				mu.Lock()
				if err != nil {
					failed = append(failed, err)
				}
				if d.Unchecked != nil {
					open++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return failed, open, calls
}

func TestABusyLimitFailsForNobody(t *testing.T) {
	for what, options := range map[string][]limit.Option{"closed": nil, "open": {limit.WithFailOpen()}} {
		t.Run(what, func(t *testing.T) {
			failed, open, _ := share(t, processes(t, 60, time.Millisecond), 10, options...)
			require.Empty(t, failed)
			require.Zero(t, open, "the store is busy, not away")
		})
	}
}

func BenchmarkSharedLimit(b *testing.B) {
	for _, c := range []struct {
		processes int
		roundTrip time.Duration
		each      int
	}{{60, time.Millisecond, 50}, {60, 0, 50}, {4, time.Millisecond, 300}, {2, 50 * time.Millisecond, 40}} {
		b.Run(fmt.Sprintf("processes=%d/roundtrip=%s", c.processes, c.roundTrip), func(b *testing.B) {
			for range b.N {
				stores := processes(b, c.processes, c.roundTrip)
				began := time.Now()
				failed, _, calls := share(b, stores, c.each)
				b.ReportMetric(float64(c.each*c.processes)/time.Since(began).Seconds(), "units/s")
				b.ReportMetric(float64(len(failed)), "failed")
				calls.report(b, "call")
			}
		})
	}
}
