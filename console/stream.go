package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
)

// streamRetry is when a browser connects again, in milliseconds.
const streamRetry = 2000

// streams counts the streams, and reads the fleet again and again while there are some.
type streams struct {
	mu   sync.Mutex
	open int
	of   map[Caller]int     // how many each caller has
	stop context.CancelFunc // ends the reads; nil while there are none
}

// enter makes room for a stream of a caller, and reports whether there is. Where callers are known
// apart, each has a quarter of the streams at most, and a quarter is for those who operate.
func (c *Console) enter(caller Caller) *problem {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	most := c.options.limits.streams
	part := max(most/4, 1)
	if known := c.tokens != nil || c.options.access != nil; known && c.streams.of[caller] >= part {
		return unavailable(fmt.Sprintf("%s has %d streams, which is the most for one: close some", caller.by(), part), nil)
	} else if known && caller.Role != Operate {
		most -= part
	}
	if c.streams.open >= most {
		return unavailable(fmt.Sprintf("there are %d streams, which is the most", most), nil)
	}
	if c.streams.open == 0 {
		ctx, cancel := context.WithCancel(c.background.ctx)
		if !c.background.do(func(context.Context) { c.poll(ctx) }) {
			cancel()
			return problemOf(errClosed)
		}
		c.streams.stop = cancel
	}
	c.streams.open++
	if c.streams.of == nil {
		c.streams.of = map[Caller]int{}
	}
	c.streams.of[caller]++
	return nil
}

func (c *Console) leave(caller Caller) {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	if c.streams.of[caller]--; c.streams.of[caller] == 0 {
		delete(c.streams.of, caller)
	}
	if c.streams.open--; c.streams.open == 0 {
		c.streams.stop()
	}
}

// poll keeps the snapshot fresh until ctx ends, so that its changes are noticed.
func (c *Console) poll(ctx context.Context) {
	for ctx.Err() == nil {
		_, _ = c.snapshot.get(ctx) // the next one may do better, and requests are answered with the error
		t := time.NewTimer(max(c.snapshot.next(), readInterval/10))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// streamQuery says which events a stream has.
type streamQuery struct {
	after string // the id to resume from; empty: from now
	job   string // only of this job; empty: all
	brief bool   // for pages, which read the changes themselves: an event says only that there was one
}

func parseStream(r *http.Request) (q streamQuery, p *problem) {
	err := view.Read(r.URL.Query(), "parameter", func(p *view.Parameters) {
		view.Checked(p, "after", &q.after, view.AnyText)
		view.Checked(p, "job", &q.job, view.NameRule)
	})
	if err != nil {
		return q, badQuery(err)
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" { // a browser that connects again knows better than the URL
		q.after = id
	}
	return q, nil
}

// stream serves events until the client is gone, the console is closed, or the caller may not read
// any more.
func (q *request) stream(brief bool) *problem {
	c, w, r := q.c, q.w, q.r
	query, p := parseStream(r)
	if p == nil {
		p = c.enter(q.caller)
	}
	if p != nil {
		return p
	}
	defer c.leave(q.caller)
	query.brief = brief
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	s := &eventStream{control: http.NewResponseController(w), w: w, query: query, log: c.events, writeTimeout: c.options.limits.streamWrite}
	if err := s.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	c.follow(r, s)
	return nil
}

// follow sends what happens. Then the browser connects again with the id of the last event that it
// has.
func (c *Console) follow(r *http.Request, s *eventStream) {
	seq, err := s.begin()
	ticker := time.NewTicker(c.options.limits.streamInterval)
	defer ticker.Stop()
	for err == nil {
		events, more, known := s.log.after(seq)
		if !known { // the stream was too slow: the event is not kept any more
			seq, err = s.reset()
			continue
		}
		if len(events) > 0 {
			if err = s.send(events); err == nil {
				seq = events[len(events)-1].seq
			}
			continue
		}
		select {
		case <-more:
		case <-ticker.C:
			if _, p := c.authenticate(r); p != nil {
				return // a token or session has ended
			}
			alive := ": alive" // a comment, for which programs need nothing; pages notice when it stays away
			if s.query.brief {
				alive = "event: alive\ndata: {}"
			}
			err = s.write(fmt.Sprintf("%s\nid: %s\n\n", alive, s.log.id(seq))) // the id also where nothing was of its job
		case <-r.Context().Done():
			return
		case <-c.background.ctx.Done():
			return
		}
	}
}

// eventStream is one stream of events.
type eventStream struct {
	control *http.ResponseController
	w       http.ResponseWriter
	query   streamQuery
	log     *eventLog

	writeTimeout time.Duration
}

// begin sends the first event, and returns the number of the event after which others follow. The
// event is ready, or reset when some events since the client's last are not known.
func (s *eventStream) begin() (seq uint64, err error) {
	if err := s.write(fmt.Sprintf("retry: %d\n\n", streamRetry)); err != nil {
		return 0, err
	}
	seq = s.log.last()
	if s.query.after != "" {
		var ok bool
		if seq, ok = s.log.number(s.query.after); !ok {
			return s.reset()
		}
	}
	return seq, s.event("ready", seq, "{}")
}

// reset says that events are missing: start over from what the API or the page shows now.
func (s *eventStream) reset() (seq uint64, err error) {
	seq = s.log.last()
	return seq, s.event("reset", seq, "{}")
}

// send sends events. For a page those that wait are one.
func (s *eventStream) send(events []event) error {
	newest := events[len(events)-1].seq
	for _, e := range events {
		data := e.data
		switch {
		case !s.of(&e.change):
			continue
		case s.query.brief:
			return s.event("change", newest, "{}")
		case s.query.job != "":
			data = s.only(e.change)
		}
		if err := s.event("change", e.seq, string(data)); err != nil {
			return err
		}
	}
	return nil
}

func (s *eventStream) event(name string, seq uint64, data string) error {
	return s.write(fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", name, s.log.id(seq), data))
}

// of reports whether the stream shows a change.
func (s *eventStream) of(c *change) bool {
	return s.query.job == "" || slices.ContainsFunc(c.Jobs, func(j jobChange) bool { return j.Job == s.query.job })
}

// only returns the part of a change that is about the job of the stream.
func (s *eventStream) only(c change) []byte {
	i := slices.IndexFunc(c.Jobs, func(j jobChange) bool { return j.Job == s.query.job })
	c.Jobs, c.Replicas = c.Jobs[i:i+1], []replicaChange{}
	data, _ := fleet.Marshal(c) // of strings, numbers and times: it cannot fail
	return data
}

// write sends text at once. The server's own limit for an answer, which a stream outlasts, does not
// hold.
func (s *eventStream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
