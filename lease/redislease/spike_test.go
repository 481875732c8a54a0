package redislease

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
)

// The spike of docs/adr/0017: compare-and-set beside the scripts of verbs.

const spikeTerm = time.Minute

func spikeStore(b *testing.B) (*Store, *redis.Client) {
	srv := redistest.Start(b)
	s, err := New(redis.NewClient(&redis.Options{Addr: srv.Addr()}), "spike")
	require.NoError(b, err)
	b.Cleanup(func() { _ = s.Close() })
	return s, srv.Client(b)
}

var spikeStat = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

func spikeStats(b *testing.B, admin *redis.Client) (calls, usec int64) {
	info, err := admin.Info(context.Background(), "commandstats").Result()
	require.NoError(b, err)
	m := spikeStat.FindStringSubmatch(info)
	if m == nil {
		return 0, 0
	}
	calls, _ = strconv.ParseInt(m[1], 10, 64)
	usec, _ = strconv.ParseInt(m[2], 10, 64)
	return calls, usec
}

// spikeServer reports the server's time for an operation: the median of 21 rounds, since other work disturbs some.
func spikeServer(b *testing.B, admin *redis.Client, ops int, round func(n int)) {
	var times []float64
	for n := range 22 {
		_, before := spikeStats(b, admin)
		round(n)
		_, after := spikeStats(b, admin)
		if n > 0 {
			times = append(times, float64(after-before)/float64(ops))
		}
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "server-us/op")
	b.ReportMetric(times[0], "least-us/op")
	b.ReportMetric(0, "ns/op")
}

type spikeRecord struct {
	key   string
	from  driver.Version
	token int64
}

var spikeData = bytes.Repeat([]byte("d"), 400)

func (r *spikeRecord) claim(id string) driver.Op {
	return driver.Op{Key: r.key, Change: &driver.Change{
		From: r.from, ID: id, Data: spikeData, NotBefore: time.Now().Add(-5 * time.Second), NotAfter: time.Now().Add(time.Minute),
		Leases: []driver.NewLease{{Holder: "bench", TTL: spikeTerm}},
	}}
}

func (r *spikeRecord) settle(id string) driver.Op {
	return driver.Op{Key: r.key, Change: &driver.Change{
		From: r.from, ID: id, Data: spikeData, Drop: []int64{r.token}, Essential: true,
		Append: []driver.Entry{{ID: "e" + id, Text: []byte("1795321934063467 1795321934063467 succeeded 1795321934064687 1 0 bench note"), Max: 128}},
	}}
}

func (r *spikeRecord) renew() driver.Op {
	return driver.Op{Key: r.key, Renew: &driver.Renewal{Token: r.token, Holder: "bench", TTL: spikeTerm}}
}

func (r *spikeRecord) stale(id string) driver.Op {
	op := r.claim(id)
	op.Change.From = driver.Version{Stamp: 1, ID: "x"}
	return op
}

func BenchmarkSpikeServer(b *testing.B) {
	const keys, rounds = 64, 30
	ctx := context.Background()
	for _, size := range []int{1, 8, 64} {
		recs := make([]*spikeRecord, keys)
		for i := range recs {
			recs[i] = &spikeRecord{key: "job" + strconv.Itoa(i)}
		}
		s, admin := spikeStore(b)
		each := func(b *testing.B, make func(r *spikeRecord) driver.Op, then func(r *spikeRecord, a driver.Result)) {
			for part := range slices.Chunk(recs, size) {
				var ops []driver.Op
				for _, r := range part {
					ops = append(ops, make(r))
				}
				for i, a := range s.values.Do(ctx, ops) {
					if a.Err != nil {
						b.Fatal(a.Err)
					}
					then(part[i], a)
				}
			}
		}
		id := 0
		nextID := func() string { id++; return "r" + strconv.Itoa(id) }
		done := func(b *testing.B) func(r *spikeRecord, a driver.Result) {
			return func(r *spikeRecord, a driver.Result) {
				if a.Status != driver.Done {
					b.Fatalf("%+v", a)
				}
				r.from = a.Version
			}
		}
		claimAll := func(b *testing.B) {
			each(b, func(r *spikeRecord) driver.Op { return r.claim(nextID()) }, func(r *spikeRecord, a driver.Result) {
				done(b)(r, a)
				r.token = a.Version.Stamp
			})
		}
		settleAll := func(b *testing.B) {
			each(b, func(r *spikeRecord) driver.Op { return r.settle(nextID()) }, done(b))
		}
		timeOf := func(b *testing.B, work func() int64) { // of one of two kinds
			var times []float64
			for range 21 {
				var us int64
				for range rounds {
					us += work()
				}
				times = append(times, float64(us)/float64(rounds*keys))
			}
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2], "server-us/op")
			b.ReportMetric(times[0], "least-us/op")
			b.ReportMetric(0, "ns/op")
		}
		during := func(b *testing.B, f func()) int64 {
			_, before := spikeStats(b, admin)
			f()
			_, after := spikeStats(b, admin)
			return after - before
		}
		at := fmt.Sprintf("/keys=%d", size)
		b.Run("cas/claim"+at, func(b *testing.B) {
			timeOf(b, func() int64 { us := during(b, func() { claimAll(b) }); settleAll(b); return us })
		})
		b.Run("cas/settle"+at, func(b *testing.B) {
			timeOf(b, func() int64 { claimAll(b); return during(b, func() { settleAll(b) }) })
		})
		b.Run("cas/lost"+at, func(b *testing.B) {
			claimAll(b)
			timeOf(b, func() int64 {
				return during(b, func() {
					each(b, func(r *spikeRecord) driver.Op { return r.stale(nextID()) }, func(*spikeRecord, driver.Result) {})
				})
			})
			settleAll(b)
		})
		b.Run("cas/renew"+at, func(b *testing.B) {
			claimAll(b)
			timeOf(b, func() int64 {
				return during(b, func() { each(b, (*spikeRecord).renew, done(b)) })
			})
			settleAll(b)
		})
		if size != 1 {
			continue
		}
		names := make([]string, keys)
		syncs := make([]lease.Sync, keys)
		for i := range names {
			names[i] = "verb" + strconv.Itoa(i)
			syncs[i] = lease.Sync{Name: names[i], Mark: 1}
		}
		_, err := s.Sync(ctx, syncs)
		require.NoError(b, err)
		occasion := time.Now().UnixMilli()
		grants := make([]lease.Grant, keys)
		claim := func(b *testing.B) {
			occasion++
			for i, name := range names {
				c := lease.Claim{Name: name, Occasion: occasion, Holder: "bench", Request: nextID(), Term: spikeTerm}
				a, err := s.Claim(ctx, c)
				if err != nil || a.Status != lease.Granted {
					b.Fatal(err, a)
				}
				grants[i] = lease.Grant{Name: name, Occasion: occasion, Holder: "bench", Request: c.Request, Token: a.Token, Attempt: 1, Term: spikeTerm}
			}
		}
		settle := func(b *testing.B) {
			for _, g := range grants {
				if err := s.Settle(ctx, g, "succeeded"); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run("verbs/claim", func(b *testing.B) {
			timeOf(b, func() int64 { us := during(b, func() { claim(b) }); settle(b); return us })
		})
		b.Run("verbs/settle", func(b *testing.B) {
			timeOf(b, func() int64 { claim(b); return during(b, func() { settle(b) }) })
		})
		b.Run("verbs/lost", func(b *testing.B) {
			claim(b)
			timeOf(b, func() int64 {
				return during(b, func() {
					for _, name := range names {
						if _, err := s.Claim(ctx, lease.Claim{Name: name, Occasion: occasion, Holder: "other", Request: "r", Term: spikeTerm}); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
			settle(b)
		})
		for _, many := range []int{1, 64} {
			b.Run(fmt.Sprintf("verbs/renew/keys=%d", many), func(b *testing.B) {
				claim(b)
				timeOf(b, func() int64 {
					return during(b, func() {
						for part := range slices.Chunk(grants, many) {
							for _, err := range s.Renew(ctx, part) {
								if err != nil {
									b.Fatal(err)
								}
							}
						}
					})
				})
				settle(b)
			})
		}
	}
}

// BenchmarkSpikePairs is claim and settle with known versions, each goroutine on a key of its own.
func BenchmarkSpikePairs(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256} {
		run := func(name string, prepare func(s *Store), pair func(ctx context.Context, s *Store, w, n int) error) {
			b.Run(fmt.Sprintf("%s/goroutines=%d", name, goroutines), func(b *testing.B) {
				s, _ := spikeStore(b)
				prepare(s)
				ctx := context.Background()
				var next atomic.Int64
				var working sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for w := range goroutines {
					working.Go(func() {
						for {
							n := next.Add(1)
							if n > int64(b.N) {
								return
							}
							if err := pair(ctx, s, w, int(n)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				working.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
		var recs []*spikeRecord
		run("cas", func(s *Store) {
			recs = nil
			for w := range goroutines {
				recs = append(recs, &spikeRecord{key: "job" + strconv.Itoa(w)})
			}
		}, func(ctx context.Context, s *Store, w, n int) error {
			r, id := recs[w], "r"+strconv.Itoa(n)
			a := s.values.Do(ctx, []driver.Op{r.claim(id)})[0]
			if a.Err != nil || a.Status != driver.Done {
				return fmt.Errorf("%+v", a)
			}
			r.from, r.token = a.Version, a.Version.Stamp
			a = s.values.Do(ctx, []driver.Op{r.settle("s" + id)})[0]
			if a.Err != nil || a.Status != driver.Done {
				return fmt.Errorf("%+v", a)
			}
			r.from = a.Version
			return nil
		})
		start := time.Now().UnixMilli()
		run("verbs", func(s *Store) {
			for w := range goroutines {
				_, _ = s.Sync(context.Background(), []lease.Sync{{Name: "job" + strconv.Itoa(w), Mark: 1}})
			}
		}, func(ctx context.Context, s *Store, w, n int) error {
			c := lease.Claim{Name: "job" + strconv.Itoa(w), Occasion: start + int64(n), Holder: "bench", Request: "r" + strconv.Itoa(n), Term: spikeTerm}
			a, err := s.Claim(ctx, c)
			if err != nil || a.Status != lease.Granted {
				return fmt.Errorf("%+v %w", a, err)
			}
			return s.Settle(ctx, lease.Grant{Name: c.Name, Occasion: c.Occasion, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: 1, Term: spikeTerm}, "succeeded")
		})
	}
}

// spikeLock is a mutex on compare-and-set: its data is the queue, in order; its only lease is the hold.
type spikeLock struct {
	s         *Store
	holder    string
	mu        *sync.Mutex
	known     *driver.Value // of the process
	ops       *atomic.Int64
	conflicts *atomic.Int64
	id        *atomic.Int64
}

func (l *spikeLock) change(ctx context.Context, decide func(v driver.Value) *driver.Change) (driver.Version, error) {
	l.mu.Lock()
	v := *l.known
	l.mu.Unlock()
	for {
		c := decide(v)
		if c == nil {
			return driver.Version{}, nil
		}
		c.From, c.ID = v.Version, "r"+strconv.FormatInt(l.id.Add(1), 36)
		r := l.s.values.Do(ctx, []driver.Op{{Key: "lock:x", Change: c}})[0]
		if r.Err != nil {
			return driver.Version{}, r.Err
		}
		l.ops.Add(1)
		if r.Status == driver.Done {
			v = driver.Value{Version: r.Version, Data: c.Data}
			if len(c.Leases) > 0 {
				v.Leases = []driver.Lease{{Token: r.Version.Stamp, Holder: l.holder}}
			}
		} else {
			l.conflicts.Add(1)
			v = r.Value
		}
		l.mu.Lock()
		if v.Version.Stamp > l.known.Version.Stamp {
			*l.known = v
		}
		l.mu.Unlock()
		if r.Status == driver.Done {
			return r.Version, nil
		}
	}
}

// acquire takes the lock, or waits in its queue for a notification.
func (l *spikeLock) acquire(ctx context.Context, notified <-chan struct{}) (int64, error) {
	for {
		granted := false
		version, err := l.change(ctx, func(v driver.Value) *driver.Change {
			queue := strings.Fields(string(v.Data))
			at := slices.Index(queue, l.holder)
			granted = len(v.Leases) == 0 && (len(queue) == 0 || at == 0)
			if granted {
				if at == 0 {
					queue = queue[1:]
				}
				return &driver.Change{Data: []byte(strings.Join(queue, " ") + " "), Leases: []driver.NewLease{{Holder: l.holder, TTL: spikeTerm}}}
			}
			if at >= 0 {
				return nil
			}
			return &driver.Change{Data: []byte(strings.Join(append(queue, l.holder), " ") + " ")}
		})
		if err != nil || granted {
			return version.Stamp, err
		}
		select {
		case <-notified: // what is known says that another holds it: look
			r := l.s.values.Do(ctx, []driver.Op{{Key: "lock:x"}})[0]
			l.ops.Add(1)
			if r.Err != nil {
				return 0, r.Err
			}
			l.mu.Lock()
			if r.Value.Version.Stamp > l.known.Version.Stamp {
				*l.known = r.Value
			}
			l.mu.Unlock()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (l *spikeLock) release(ctx context.Context, token int64) error {
	_, err := l.change(ctx, func(v driver.Value) *driver.Change {
		queue := strings.Fields(string(v.Data))
		c := &driver.Change{Data: append([]byte{}, v.Data...), Drop: []int64{token}, Essential: true}
		if len(queue) > 0 {
			c.Notify = []driver.Notification{{Name: "x", Waiters: queue[:1]}}
		}
		return c
	})
	return err
}

// BenchmarkSpikeHandOver is what BenchmarkHandOver of benchmarks/ measures, of a mutex on compare-and-set.
func BenchmarkSpikeHandOver(b *testing.B) {
	const waiters = 32
	for _, processes := range []int{1, waiters} {
		b.Run(fmt.Sprintf("processes=%d", processes), func(b *testing.B) {
			srv := redistest.Start(b)
			var ops, conflicts, id, left, given atomic.Int64
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			notified := make(map[string]chan struct{})
			locks := make([]*spikeLock, waiters)
			for w := range waiters {
				notified["w"+strconv.Itoa(w)] = make(chan struct{}, 1)
			}
			for p := range processes {
				s, err := New(redis.NewClient(&redis.Options{Addr: srv.Addr()}), "spike")
				require.NoError(b, err)
				defer func() { _ = s.Close() }()
				mu, known := new(sync.Mutex), new(driver.Value)
				mine := make(map[string]bool)
				for w := p; w < waiters; w += processes {
					holder := "w" + strconv.Itoa(w)
					mine[holder] = true
					locks[w] = &spikeLock{s: s, holder: holder, mu: mu, known: known, ops: &ops, conflicts: &conflicts, id: &id}
				}
				ready := make(chan struct{})
				go func() {
					_ = s.values.Subscribe(ctx, func(n driver.Notification) {
						if n.Name == "" {
							close(ready)
						}
						for _, w := range n.Waiters {
							if mine[w] {
								select {
								case notified[w] <- struct{}{}:
								default:
								}
							}
						}
					})
				}()
				<-ready
			}
			left.Store(int64(b.N))
			var mu sync.Mutex
			var took []time.Duration
			another := make(chan struct{})
			var working sync.WaitGroup
			began := time.Now()
			var opsBefore, conflictsBefore int64
			for w, l := range locks {
				working.Go(func() {
					for {
						token, err := l.acquire(ctx, notified["w"+strconv.Itoa(w)])
						if err != nil {
							if ctx.Err() == nil {
								b.Error(err)
							}
							return
						}
						now := time.Since(began)
						mu.Lock()
						close(another)
						another = make(chan struct{})
						mine := another
						if at := given.Load(); at != 0 {
							took = append(took, now-time.Duration(at))
							mu.Unlock()
						} else {
							mu.Unlock()
							time.Sleep(500 * time.Millisecond)
							opsBefore, conflictsBefore = ops.Load(), conflicts.Load()
						}
						over := left.Add(-1) <= 0
						time.Sleep(2 * time.Millisecond)
						given.Store(int64(time.Since(began)))
						if err := l.release(ctx, token); err != nil {
							b.Error(err)
						}
						if over {
							cancel()
							return
						}
						select {
						case <-mine:
						case <-ctx.Done():
						}
					}
				})
			}
			<-ctx.Done()
			sent, lost := ops.Load()-opsBefore, conflicts.Load()-conflictsBefore
			working.Wait()
			if len(took) == 0 {
				return
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(sent)/float64(len(took)), "commands/hand-over")
			b.ReportMetric(float64(lost)/float64(len(took)), "conflicts/hand-over")
			b.ReportMetric(0, "ns/op")
		})
	}
}
