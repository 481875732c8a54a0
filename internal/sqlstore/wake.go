package sqlstore

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

const (
	// lookEvery is how often a subscriber looks for what others have published, and wokenEvery how
	// often one that the database wakes.
	lookEvery  = 100 * time.Millisecond
	wokenEvery = 2 * time.Second
	// listenAgain is the pause before a connection that listens is made again.
	listenAgain = time.Second
)

// waker has those who follow notices in this process look at once. While there are any, it listens
// to the database where that can be done.
type waker struct {
	mu        sync.Mutex
	followers map[chan struct{}]bool
	stop      context.CancelFunc // of the goroutine that listens; nil when there is none
	works     bool               // what is published arrives there
}

// wake has every follower look.
func (w *waker) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.followers {
		select {
		case f <- struct{}{}:
		default: // it will look
		}
	}
}

// pause is how long a follower waits when nobody wakes it.
func (w *waker) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.works {
		return wokenEvery
	}
	return lookEvery
}

// setWorks notes whether the connection that listens does.
func (w *waker) setWorks(works bool) {
	w.mu.Lock()
	w.works = works
	w.mu.Unlock()
	w.wake()
}

// join returns what wakes a follower, and what to call when it ends.
func (db *database) join() (woken <-chan struct{}, leave func()) {
	w := &db.waker
	f := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.followers == nil {
		w.followers = map[chan struct{}]bool{}
	}
	w.followers[f] = true
	if db.Listen != nil && w.stop == nil && db.enter() == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go func() {
			defer db.running.Done()
			db.listen(ctx)
		}()
	}
	return f, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.followers, f)
		if len(w.followers) == 0 && w.stop != nil {
			w.stop()
			w.stop = nil
		}
	}
}

// end stops what listens, and has followers look: calls fail now.
func (w *waker) end() {
	w.mu.Lock()
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
	w.mu.Unlock()
	w.wake()
}

// listen listens until ctx ends. It counts as working when what it has published arrives: through
// some poolers nothing does, and followers go on looking often.
func (db *database) listen(ctx context.Context) {
	for ctx.Err() == nil {
		mine := "probe-" + rand.Text()
		probed, probe := context.WithCancel(ctx)
		var probes sync.WaitGroup
		probes.Go(func() { db.probe(probed, mine) })
		_ = db.Listen(ctx, db.DB, func(payload string) { // what fails is tried again
			switch payload {
			case mine:
				probe()
				db.waker.setWorks(true)
			case db.Namespace:
				db.waker.wake()
			}
		})
		probe()
		probes.Wait()
		db.waker.setWorks(false)
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// probe publishes payload until it has arrived, when ctx ends: ten times, and then now and then.
func (db *database) probe(ctx context.Context, payload string) {
	for n := 0; ; n++ {
		pause := lookEvery
		if n > 10 {
			pause = time.Minute
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		_ = db.call(ctx, func(ctx context.Context) error {
			_, err := db.exec(ctx, db.DB, db.Notify, payload)
			return err
		})
	}
}
