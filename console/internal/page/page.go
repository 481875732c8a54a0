package page

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Policy is the content security policy that every page keeps.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Context has all that a page needs besides its view.
type Context struct {
	Prefix string     // where the console is mounted, without a slash at its end; "" at the root
	Path   string     // of the page below the prefix, such as "/timeline"
	Query  url.Values // of the request

	Lang string    // [English] or [Chinese]; "" is English
	Zone string    // in which times are shown, by its IANA name; "" for each in the zone of its job, and others in UTC
	Now  time.Time // fleet time; the clock of this process where it is zero

	Stranger  bool // it is not known who asks: the page shows nothing of the fleet
	Namespace string
	User      string // who signed in; "" for nobody
	Login     bool   // somebody may sign in and out
	Operate   bool   // the viewer may change the fleet
	ReadOnly  bool   // the viewer is known, and may not
	Events    string // the URL of the stream that says when the page has changed; "" for none
}

//go:embed templates/*.html
var sources embed.FS

// templates has one template for each page, each with the frame and the parts that pages share.
var templates = sync.OnceValue(func() map[string]*template.Template {
	shared := template.Must(template.New("").ParseFS(sources, "templates/frame.html", "templates/parts.html"))
	entries, err := sources.ReadDir("templates")
	if err != nil {
		panic(err) // the program has them in itself
	}
	all := map[string]*template.Template{}
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".html"); name != "frame" && name != "parts" {
			all[name] = template.Must(template.Must(shared.Clone()).ParseFS(sources, "templates/"+entry.Name()))
		}
	}
	return all
})

// Render writes the page of a view as HTML: the template job.html shows a view.JobPage. Its error is that of the writer, or says that no page
// shows such a view.
func Render(w io.Writer, c Context, shown any) error {
	name := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(shown).Name(), "Page"))
	t := templates()[name]
	if t == nil {
		return fmt.Errorf("page: no page shows a %T", shown)
	}
	f := &frame{Context: c, name: name}
	title := ""
	if of, ok := shown.(interface{ About() (job, zone string) }); ok {
		title, f.jobZone = of.About()
	}
	f.Lang = cmp.Or(known(c.Lang), English)
	f.zone = location(c.Zone)
	if c.Now.IsZero() {
		f.Now = time.Now()
	}
	f.Title = f.T("title." + name)
	if title != "" {
		f.Title = title + " · " + f.Title
	}
	return t.ExecuteTemplate(w, "frame", part{f, shown})
}

// part is given to a template: the frame, as $, and the page's view, as $.V.
type part struct {
	*frame
	V any
}

// With returns the same frame around another value, for a template within a template.
func (p part) With(v any) part { return part{p.frame, v} }
