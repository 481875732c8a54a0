package console

import (
	"strings"
	"time"
)

// Route is a route, for tests of all of them.
type Route struct {
	Method, Pattern string
	Needs           Role
	Open, Stream    bool
}

// Routes returns all routes.
func Routes() []Route {
	list := make([]Route, len(routes))
	for i, r := range routes {
		list[i] = Route{r.method, r.pattern, r.needs, r.open, r.stream}
	}
	return list
}

// PathOf returns a path that a route answers.
func PathOf(r Route) string {
	return strings.NewReplacer("{job}", "report", "{key}", "acme", "{tick}", "1700000000000", "{file}", "console.css", "{$}", "").Replace(r.Pattern)
}

// WithMaxStreams sets how many streams there may be.
func WithMaxStreams(n int) Option { return func(o *options) { o.limits.streams = n } }

// WithStreamInterval sets how often a stream says something.
func WithStreamInterval(d time.Duration) Option {
	return func(o *options) { o.limits.streamInterval = d }
}

// WithStreamWriteTimeout sets how long a write to a stream may take.
func WithStreamWriteTimeout(d time.Duration) Option {
	return func(o *options) { o.limits.streamWrite = d }
}

// WithRequestTimeout sets how long a request may take.
func WithRequestTimeout(d time.Duration) Option { return func(o *options) { o.limits.request = d } }

// OpenStreams returns how many streams there are.
func (c *Console) OpenStreams() int {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	return c.streams.open
}

// AddEvent adds an event about a job of this name.
func (c *Console) AddEvent(job string) { c.events.add(change{Jobs: []jobChange{{Job: job}}}) }
