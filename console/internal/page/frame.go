package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// frame has the methods and values that every template can use.
type frame struct {
	Context
	Title string

	name    string         // of the page
	jobZone string         // of the job that it is about; "" for none
	zone    *time.Location // that was chosen; nil for that of each job
}

// Asset returns the URL of a static file, with the hash of its content.
func (f *frame) Asset(name string) string { return f.Prefix + "/static/" + assets()[name].name }

// Tab is a link of the navigation.
type tab struct {
	Name, URL string
	Here      bool
}

// Tabs returns the navigation. The page of one job or tick is part of the jobs.
func (f *frame) Tabs() (tabs []tab) {
	within := map[string]string{"job": "jobs", "tick": "jobs", "why": "jobs", "schedules": "jobs", "edit": "jobs"}
	for _, name := range []string{"jobs", "timeline", "load", "fleet", "locks", "audit"} {
		path := "/" + name
		if name == "jobs" {
			path = "/"
		}
		tabs = append(tabs, tab{name, f.To(path), f.name == name || within[f.name] == name})
	}
	return tabs
}

// To returns the URL of a page below the prefix; its query follows as name and value in turn,
// without those whose value is empty. The zone that the viewer chose goes along.
func (f *frame) To(path string, query ...any) string {
	v := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		value := fmt.Sprint(query[i+1])
		if at, ok := query[i+1].(time.Time); ok {
			if value = ""; !at.IsZero() {
				value = at.UTC().Format(time.RFC3339Nano)
			}
		}
		if value != "" {
			v.Set(fmt.Sprint(query[i]), value)
		}
	}
	return f.link(path, v)
}

func (f *frame) link(path string, v url.Values) string {
	if f.Query.Get("zone") != "" && !v.Has("zone") {
		v.Set("zone", f.Query.Get("zone"))
	}
	if f.Query.Get("lang") != "" {
		v.Set("lang", f.Query.Get("lang"))
	}
	if len(v) == 0 {
		return f.Prefix + path
	}
	return f.Prefix + path + "?" + v.Encode()
}

// Here returns the URL of this page.
func (f *frame) Here() string {
	if len(f.Query) == 0 {
		return f.Prefix + f.Path
	}
	return f.Prefix + f.Path + "?" + f.Query.Encode()
}

// field is a parameter of a URL.
type field struct{ Name, Value string }

// Kept returns the parameters of this page that a form of it has to keep, but for those that it
// sets itself.
func (f *frame) Kept(set ...string) (fields []field) {
	for name, values := range f.Query {
		if slices.Contains(set, name) {
			continue
		}
		for _, value := range values {
			fields = append(fields, field{name, value})
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.Name+"\x00"+a.Value, b.Name+"\x00"+b.Value) })
	return fields
}

// query returns a copy of the parameters of this page.
func (f *frame) query() url.Values {
	v := url.Values{}
	for name, values := range f.Query {
		v[name] = slices.Clone(values)
	}
	return v
}
