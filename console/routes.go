package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
)

// route answers the requests of a pattern.
type route struct {
	method, pattern string // of the path, as http.ServeMux has it
	needs           Role   // of the caller
	open            bool   // no caller needs to be known
	stream          bool   // it lasts
	only            bool   // it has one form, whatever the request would like
	serve           func(*request) *problem
}

// routes are all that a console answers. A GET is a HEAD as well.
var routes = func() []route {
	list := []route{
		{method: "GET", pattern: "/static/{file}", open: true, serve: (*request).static},
		{method: "GET", pattern: "/login", open: true, serve: (*request).loginForm},
		{method: "POST", pattern: "/login", open: true, serve: (*request).login},
		{method: "POST", pattern: "/logout", open: true, serve: (*request).logout},
		{method: "GET", pattern: "/events", needs: Read, stream: true, only: true, serve: func(q *request) *problem { return q.stream(true) }},
		{method: "GET", pattern: "/calendar.ics", needs: Read, only: true, serve: (*request).calendar},

		{method: "GET", pattern: "/api/v1/openapi.yaml", needs: Read, serve: (*request).openapi},
		{method: "GET", pattern: "/api/v1/events", needs: Read, stream: true, serve: func(q *request) *problem { return q.stream(false) }},
		{method: "GET", pattern: "/api/v1/status", needs: Read, serve: answer((*request).status)},
		{method: "GET", pattern: "/api/v1/jobs/{job}/description", needs: Read, serve: answer((*request).description)},
		{method: "GET", pattern: "/api/v1/jobs/{job}/history", needs: Read, serve: answer(asking((*request).history))},
		{method: "GET", pattern: "/api/v1/jobs/{job}/explanation", needs: Read, serve: answer(asking((*request).explanation))},
		{method: "GET", pattern: "/api/v1/jobs/{job}/ticks", needs: Read, serve: answer((*request).coming)},
		{method: "GET", pattern: "/api/v1/jobs/{job}/forgettable", needs: Read, serve: answer((*request).forgettable)},
		{method: "GET", pattern: "/api/v1/acts", needs: Read, serve: answer((*request).actLog)},
		{method: "GET", pattern: "/api/v1/doctor", needs: Read, serve: answer((*request).doctor)},
	}
	for _, p := range pages {
		list = append(list, route{method: "GET", pattern: p.pattern, needs: Read, serve: sharedPage(p.make)})
		if p.api != "" {
			list = append(list, route{method: "GET", pattern: "/api/v1" + p.api, needs: Read, serve: answer(p.make)})
		}
	}
	return slices.Concat(list, actionRoutes(), scheduleRoutes(), storedRoutes())
}()

// pageRoute is a view that pages and the API have in common.
type pageRoute struct {
	pattern, api string
	make         func(*request) (any, error)
}

var pages = []pageRoute{
	{"/{$}", "", asking((*request).jobList)},
	{"/jobs", "/jobs", asking((*request).jobList)},
	{"/timeline", "/timeline", asking((*request).timeline)},
	{"/load", "/forecast", asking((*request).load)},
	{"/fleet", "/replicas", asking((*request).replicas)},
	{"/locks", "/locks", asking((*request).lockList)},
	{"/audit", "/audit", asking((*request).audit)},
	{"/jobs/{job}", "/jobs/{job}", asking((*request).job)},
	{"/jobs/{job}/ticks/{tick}", "/jobs/{job}/ticks/{tick}", asking((*request).tick)},
	{"/jobs/{job}/why", "/jobs/{job}/why", asking((*request).why)},
}

// mux finds routes by their paths.
func mux() *http.ServeMux {
	m := http.NewServeMux()
	for i := range routes {
		m.Handle(routes[i].method+" "+routes[i].pattern, &routes[i])
	}
	return m
}

// ServeHTTP makes a route known to a mux, which never calls it.
func (*route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// route returns the route of the request, and takes the format from its path or header.
func (q *request) route() (*route, *problem) {
	r := q.r
	if !q.api {
		path, f, p := formatOf(r, q.isPage)
		q.format = f
		if found := q.lookup(r); p != nil && (found == nil || !found.only) {
			return nil, p
		}
		if path != r.URL.Path {
			at := *r.URL
			at.Path, at.RawPath = path, ""
			r = r.Clone(r.Context())
			r.URL = &at
		}
	}
	if found := q.lookup(r); found != nil {
		q.r = r
		return found, nil
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *r
		other.Method = method
		if q.c.find(&other) != nil {
			allowed = append(allowed, method)
		}
	}
	if allowed != nil {
		q.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return nil, newProblem(http.StatusMethodNotAllowed, "there is only "+strings.Join(allowed, " and ")+" here")
	}
	return nil, notFound("there is no such page")
}

// find returns the route of a request; nil when there is none.
func (c *Console) find(r *http.Request) *route {
	handler, pattern := c.mux.Handler(r)
	if found, ok := handler.(*route); ok && pattern != "" {
		return found
	}
	return nil
}

// lookup is find, and sets the values that the pattern takes from the path.
func (q *request) lookup(r *http.Request) *route {
	found := q.c.find(r)
	if found == nil {
		return nil
	}
	names, values := strings.Split(found.pattern, "/"), strings.Split(r.URL.Path, "/")
	for i, name := range names {
		if strings.HasPrefix(name, "{") && name != "{$}" {
			r.SetPathValue(strings.Trim(name, "{}"), values[i])
		}
	}
	return found
}

// isPage reports whether a path that ends like a format is a page as it stands: the calendar, a
// file, a schedule of any key, or a job of that name.
func (q *request) isPage(path string) bool {
	name, ok := strings.CutPrefix(path, "/jobs/")
	if _, key, found := strings.Cut(name, "/schedules/"); found && naming.Valid(key) {
		return true
	}
	if !ok || strings.Contains(name, "/") || !naming.Valid(name) {
		return strings.HasPrefix(path, "/static/")
	}
	r := q.c.last.Load() // enough to choose between two jobs
	return r != nil && slices.ContainsFunc(r.Status.Jobs, func(j fleet.JobStatus) bool { return j.Name == name })
}

// answer makes a route of a function that returns its page.
func answer(of func(*request) (any, error)) func(*request) *problem {
	return func(q *request) *problem {
		shown, err := of(q)
		if err != nil {
			return problemOf(err)
		}
		return q.write(http.StatusOK, shown)
	}
}

// jobName returns the name of the job in the path, or JOB/KEY.
func (q *request) jobName() (string, error) {
	name := q.r.PathValue("job")
	job, key := naming.SplitKeyed(name)
	if rule := view.NameRule(job); rule != "" {
		return "", badRequest(fault("job", shortened(job), rule))
	}
	if key != "" && !naming.Valid(key) {
		return "", badRequest(fault("key", shortened(key), naming.Rule))
	}
	return name, nil
}

// asks reads the job of the path, where that has one, and the query.
func (q *request) asks(bind func(p *view.Parameters)) (job string, err error) {
	if q.r.PathValue("job") != "" {
		if job, err = q.jobName(); err != nil {
			return "", err
		}
	}
	v, err := q.values()
	if err != nil {
		return "", err
	}
	if err := view.Read(v, "parameter", bind); err != nil {
		return "", badQuery(err)
	}
	return job, nil
}

// values returns the query of the URL, without what pages have besides.
func (q *request) values() (url.Values, error) {
	v, err := url.ParseQuery(q.r.URL.RawQuery)
	if err != nil {
		return nil, badRequest(fault("query", shortened(q.r.URL.RawQuery), "must be a query of a URL: "+err.Error()))
	}
	return v, nil
}
