package daemon

import (
	"bytes"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

const (
	// maxScrapes is how many requests for metrics are answered at a time. Others wait for
	// scrapeWait.
	maxScrapes = 64
	scrapeWait = 5 * time.Second
	// scrapeWrite bounds the time that a client takes to read the answer: its text is kept for so
	// long.
	scrapeWrite = 10 * time.Second
	// scrapeShare is the part of the time that metrics are gathered and encoded, at most.
	scrapeShare = 5
)

// scrapes answers requests for metrics, which need no token, at a bounded cost. Requests that come
// together, or soon after one another, share one text. It is safe for concurrent use.
type scrapes struct {
	metrics http.Handler
	room    chan struct{} // as many as are answered
	turn    chan struct{} // one at a time makes a text
	byForm  map[scrapeForm]*scrape
}

// scrapeForm is a form of the text.
type scrapeForm struct{ protobuf, gzip bool }

// scrape is a text that was made.
type scrape struct {
	header http.Header
	status int
	body   bytes.Buffer
	until  time.Time // a newer one is due
}

func (s *scrape) Header() http.Header         { return s.header }
func (s *scrape) WriteHeader(status int)      { s.status = status }
func (s *scrape) Write(b []byte) (int, error) { return s.body.Write(b) }

func newScrapes(metrics prometheus.Gatherer, logger *slog.Logger) *scrapes {
	return &scrapes{
		metrics: promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelError)}),
		room:    make(chan struct{}, maxScrapes), turn: make(chan struct{}, 1), byForm: map[scrapeForm]*scrape{},
	}
}

// ServeHTTP implements [http.Handler].
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wait := time.NewTimer(scrapeWait)
	defer wait.Stop()
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	case <-wait.C:
		w.Header().Set("Retry-After", "5")
		text(w, http.StatusServiceUnavailable, "too many scrapes at once\n")
		return
	case <-r.Context().Done():
		return
	}
	select {
	case s.turn <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	made := s.newest(formOf(r.Header))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeWrite)) // a recorder has none
	maps.Copy(w.Header(), made.header)
	w.WriteHeader(made.status)
	_, _ = w.Write(made.body.Bytes()) // the client may be gone
}

// newest returns a text of that form, and makes one if that is due. Its caller has the turn, which
// it gives back.
func (s *scrapes) newest(form scrapeForm) *scrape {
	defer func() { <-s.turn }()
	if made := s.byForm[form]; made != nil && time.Now().Before(made.until) {
		return made
	}
	began := time.Now()
	made := &scrape{header: http.Header{}, status: http.StatusOK}
	s.metrics.ServeHTTP(made, form.request())
	now := time.Now()
	made.until = now.Add((scrapeShare - 1) * now.Sub(began))
	s.byForm[form] = made
	return made
}

// request asks for the metrics in that form.
func (f scrapeForm) request() *http.Request {
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/metrics"}, Header: http.Header{}}
	if f.protobuf {
		r.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	}
	if f.gzip {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	return r
}

// formOf returns the form that a client asks for.
func formOf(h http.Header) (f scrapeForm) {
	f.protobuf = expfmt.NegotiateAccept(h, expfmt.DefaultAcceptedFormats()...).FormatType() == expfmt.TypeProtoDelim
	for item := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		name, parameters, err := mime.ParseMediaType(item)
		quality, given := parameters["q"]
		if err == nil && name == "gzip" {
			f.gzip = !given || strings.Trim(quality, "0.") != ""
		}
	}
	return f
}
