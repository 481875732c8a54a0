package sqlstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"
)

const (
	// lookEvery is how often a process looks for what others have published, soonest how often it
	// does while a claim waits that has just been queued, and wokenEvery how often when the database
	// wakes it.
	lookEvery  = 100 * time.Millisecond
	soonest    = 10 * time.Millisecond
	wokenEvery = 2 * time.Second
	// listenAgain is the pause before a connection that listens is made again.
	listenAgain = time.Second
)

// waker has those who follow notices in this process look at once. While there are any, one
// goroutine looks for all of them, and another listens to the database where that can be done.
type waker struct {
	mu        sync.Mutex
	followers map[chan struct{}]bool
	stop      context.CancelFunc // of these goroutines; nil when there are none
	works     bool               // what is published arrives at the one that listens
	queued    time.Time          // when a claim was queued last
	sooner    chan struct{}      // of size 1: the pause is another one now
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

// expect has the process look soon, and then at growing intervals: a claim was queued. What it waits
// for is seen late by a tenth of the time that it has waited, or by soonest. So a claim that waits
// for a second costs 24 looks more than one that does not, and a process that does not wait none.
func (w *waker) expect() {
	w.mu.Lock()
	w.queued = time.Now()
	w.mu.Unlock()
	w.again()
}

// again has the goroutine that looks reckon its pause again.
func (w *waker) again() {
	select {
	case w.sooner <- struct{}{}:
	default: // it will
	}
}

// pause is how long nobody looks who is not woken.
func (w *waker) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.works {
		return wokenEvery
	}
	return min(max(time.Since(w.queued)/10, soonest), lookEvery)
}

// look wakes the followers until ctx ends: first, when changed says so, and when that fails, since
// their own looks show why.
func (w *waker) look(ctx context.Context, changed func(context.Context) (bool, error)) {
	for first := true; ctx.Err() == nil; first = false {
		looked := time.Now()
		if changed, err := changed(ctx); first || changed || err != nil {
			w.wake()
		}
		for paused := false; !paused; {
			select {
			case <-ctx.Done():
				return
			case <-w.sooner:
			case <-time.After(time.Until(looked.Add(w.pause()))):
				paused = true
			}
		}
	}
}

// setWorks notes whether the connection that listens does.
func (w *waker) setWorks(works bool) {
	w.mu.Lock()
	w.works = works
	w.mu.Unlock()
	w.again()
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
	if w.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		db.start(func() { w.look(ctx, db.changes()) })
		if db.Listen != nil {
			db.start(func() { db.listen(ctx) })
		}
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

// start calls f in a goroutine that Close waits for, unless the store is closed.
func (db *database) start(f func()) {
	if db.enter() == nil {
		go func() {
			defer db.running.Done()
			f()
		}()
	}
}

// changes returns what says whether there are other notices than at its call before. Of several that
// were published together one may be seen before another with a smaller number; then there are more.
func (db *database) changes() func(context.Context) (bool, error) {
	var newest, count int64
	return func(ctx context.Context) (changed bool, err error) {
		n, c := newest, count
		err = db.call(ctx, func(ctx context.Context) error {
			_, err := db.one(ctx, db.DB, "SELECT coalesce(max(seq), 0), count(*) FROM solotick_notice WHERE seq > "+
				"(SELECT coalesce(max(seq), 0) FROM solotick_notice) - "+strconv.Itoa(late), &newest, &count)
			return err
		})
		return n != newest || c != count, err
	}
}

// end stops what looks and listens, and has followers look: calls fail now.
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
			err := db.exec(ctx, db.DB, db.Notify, payload)
			return err
		})
	}
}
