package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/scheduler/internal/admission"
)

// permits are those of the jobs that bound how many of their runs there are at one time over the
// fleet. Those of a job lie in a lock of the store with as many permits, in the order of arrival.
type permits struct {
	*Scheduler
	ended     chan struct{}
	keepers   sync.WaitGroup
	acquiring sync.WaitGroup

	mu    sync.Mutex
	over  bool
	locks *lock.Locks // nil before it is needed
	jobs  map[string]*jobPermits
}

func newPermits(s *Scheduler) *permits {
	return &permits{Scheduler: s, ended: make(chan struct{}), jobs: map[string]*jobPermits{}}
}

// jobPermits are the permits of a job.
type jobPermits struct {
	*admission.Permits
	limit int // of the newest definition; guarded by permits.mu
}

// mostBlocks is about how many blocks the permits of a job make: each is one until there are more.
const mostBlocks = 64

// of returns the permits of a job, nil where it has no limit, and after the end, when nothing is claimed.
func (p *permits) of(job *jobs.Job) *admission.Permits {
	limit := job.Spec().MaxConcurrent
	if limit == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	if p.locks == nil {
		p.locks = lock.New(p.store, lock.WithHolder(p.replica))
	}
	of := p.jobs[job.Name()]
	if of == nil {
		of = &jobPermits{Permits: admission.NewPermits()}
		p.jobs[job.Name()] = of
		p.keepers.Go(func() { p.keep(job.Name(), of) })
	}
	of.limit = limit
	return of.Permits
}

// end gives everything back. No run has a permit any more, unless it is stuck.
func (p *permits) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	close(p.ended)
	p.keepers.Wait()
	if p.locks != nil {
		p.locks.Close() // what waits for a block ends
	}
	p.acquiring.Wait()
}

// keep acquires blocks of permits while ticks wait for some, and gives back those that nothing needs.
func (p *permits) keep(job string, of *jobPermits) {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	var returning sync.WaitGroup
	defer returning.Wait()
	acquired, busy := make(chan struct{}, 1), false
	for over := false; !over; {
		select {
		case <-of.Changed:
		case <-acquired:
			busy = false
		case <-again.C: // a turn may be over
		case <-p.ended:
			over = true
		}
		wake, done, short := of.Next(p.stopping.Load())
		for _, w := range wake {
			w.Wake()
		}
		for _, h := range done {
			returning.Go(func() { p.giveBack(h) })
		}
		if short && !busy {
			busy = true
			p.acquiring.Go(func() {
				p.acquire(job, of)
				acquired <- struct{}{}
			})
		}
	}
}

// acquire acquires a block.
func (p *permits) acquire(job string, of *jobPermits) {
	p.mu.Lock()
	limit := of.limit
	p.mu.Unlock()
	size := max(limit/mostBlocks, 1)
	block := p.locks.Semaphore(lock.Name("max-concurrent", job), limit, lock.WithTTL(p.ttl), lock.WithFairness()).Take(size)
	switch h, err := block.Acquire(p.runs); {
	case err != nil: // the replica stops
	case p.stopping.Load():
		p.giveBack(h)
	default:
		of.Add(h, size)
	}
}

// giveBack releases a block. If the store is away, it ends with its lease.
func (p *permits) giveBack(h admission.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), p.ttl)
	defer cancel()
	_ = h.Release(ctx)
}
