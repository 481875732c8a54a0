package console

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/solotick/solotick/console/internal/page"
)

// maxFragments bounds the pages that are kept, in bytes.
const maxFragments = 32 << 20

// fragments keeps the HTML of pages that were made of the newest reading of the fleet, so that tabs
// which show the same share it. It is safe for concurrent use.
type fragments struct {
	mu    sync.Mutex
	of    *reading
	byKey map[fragmentKey]*fragment
	bytes int
}

// fragmentKey has all that a page depends on besides the reading.
type fragmentKey struct {
	prefix, path, query, lang string
	user                      string
	operate                   bool
}

type fragment struct {
	made chan struct{} // is closed when body is set, or could not be made
	body []byte        // nil when it could not be made
	gzip func() []byte
}

// get returns the page of a reading. One caller makes it, and those who come meanwhile wait. If that
// fails, each makes it for itself.
func (f *fragments) get(ctx context.Context, of *reading, key fragmentKey, body func() ([]byte, *problem)) (*fragment, *problem) {
	f.mu.Lock()
	if f.of != of {
		f.of, f.byKey, f.bytes = of, map[fragmentKey]*fragment{}, 0
	}
	if kept := f.byKey[key]; kept != nil {
		f.mu.Unlock()
		select {
		case <-kept.made:
		case <-ctx.Done():
			return nil, problemOf(context.Cause(ctx))
		}
		if kept.body != nil {
			return kept, nil
		}
		own := new(fragment)
		return own, own.make(body)
	}
	made := &fragment{made: make(chan struct{})}
	f.byKey[key] = made
	f.mu.Unlock()
	defer close(made.made)
	p := made.make(body)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == of {
		if f.bytes += len(made.body); p != nil || f.bytes > maxFragments {
			f.bytes -= len(made.body)
			delete(f.byKey, key)
		}
	}
	return made, p
}

func (f *fragment) make(body func() ([]byte, *problem)) (p *problem) {
	f.body, p = body()
	f.gzip = sync.OnceValue(func() []byte { return compressed(f.body) })
	return p
}

// sharedPage answers with a page that tabs share where it is HTML.
func sharedPage(of func(*request) (any, error)) func(*request) *problem {
	alone := answer(of)
	return func(q *request) *problem {
		if q.format != asHTML {
			return alone(q)
		}
		s, err := q.reading()
		if err != nil {
			return problemOf(err)
		}
		f, p := q.c.fragments.get(q.r.Context(), s, q.fragmentKey(), func() ([]byte, *problem) {
			shown, err := of(q)
			if err != nil {
				return nil, problemOf(err)
			}
			var b bytes.Buffer
			if err := page.Render(&b, q.context(shown), shown); err != nil {
				return nil, q.unwritable(err)
			}
			return b.Bytes(), nil
		})
		if p == nil {
			q.send(http.StatusOK, htmlType, f.body, f.gzip)
		}
		return p
	}
}

func (q *request) fragmentKey() fragmentKey {
	v, _ := url.ParseQuery(q.r.URL.RawQuery) // where it has faults, no page is made
	return fragmentKey{
		prefix: q.prefix, path: q.r.URL.Path, query: q.r.URL.RawQuery, lang: q.language(v),
		user: q.caller.Name, operate: q.c.may(q.caller, Operate) == nil,
	}
}
