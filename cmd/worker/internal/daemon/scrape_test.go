package daemon

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

// slow is a gatherer that takes 100 ms, and counts.
type slow struct{ gathered int }

func (s *slow) Describe(chan<- *prometheus.Desc) {}

func (s *slow) Collect(series chan<- prometheus.Metric) {
	s.gathered++
	time.Sleep(100 * time.Millisecond)
	series <- prometheus.MustNewConstMetric(prometheus.NewDesc("n", "n", nil, nil), prometheus.GaugeValue, float64(s.gathered))
}

func slowScrapes(t *testing.T) (*slow, *scrapes) {
	s, registry := new(slow), prometheus.NewRegistry()
	require.NoError(t, registry.Register(s))
	return s, newScrapes(registry, quiet)
}

func scraped(handler http.Handler, headers ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	handler.ServeHTTP(w, r)
	return w
}

func TestScrapesAtOnceShareOneGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, handler := slowScrapes(t)
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				w := scraped(handler)
				require.Equal(t, http.StatusOK, w.Code)
				require.Contains(t, w.Body.String(), "\nn 1\n")
			})
		}
		group.Wait()
		require.Equal(t, 1, s.gathered)
	})
}

func TestGatheringTakesAFifthOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, handler := slowScrapes(t)
		began := time.Now()
		for time.Since(began) < 10*time.Second {
			scraped(handler)
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, s.gathered, 21)
		time.Sleep(500 * time.Millisecond)
		before := s.gathered
		scraped(handler)
		require.Equal(t, before+1, s.gathered, "what is old is not shown")
	})
}

func TestScrapesThatWaitTooLongAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, handler := slowScrapes(t)
		for range maxScrapes {
			handler.room <- struct{}{} // clients that read slowly
		}
		began := time.Now()
		w := scraped(handler)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "5", w.Header().Get("Retry-After"))
		require.Equal(t, scrapeWait, time.Since(began))
	})
}

func TestScrapeIsInTheFormThatWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, handler := slowScrapes(t)
		require.Contains(t, scraped(handler).Header().Get("Content-Type"), "text/plain; version=0.0.4")
		w := scraped(handler, "Accept", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited")
		require.Contains(t, w.Header().Get("Content-Type"), "application/vnd.google.protobuf")
		require.Empty(t, scraped(handler, "Accept-Encoding", "identity, gzip;q=0").Header().Get("Content-Encoding"))
		w = scraped(handler, "Accept-Encoding", "deflate, gzip")
		require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
		plain, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(plain)
		require.NoError(t, err)
		require.Contains(t, string(body), "\nn ")
	})
}

func TestMetricsNeedATokenWhereThatIsConfigured(t *testing.T) {
	cfg := config.Server{Tokens: []config.Token{{Name: "prometheus", Role: "read", Value: config.NewSecret("a-token-that-reads")}}}
	url, p := servePages(t, cfg)
	status, _ := get(t, url+"/metrics", "")
	require.Equal(t, http.StatusOK, status, "it is for anybody by default")

	guarded := httptest.NewServer(p.console.Protect(newScrapes(prometheus.NewRegistry(), quiet)))
	t.Cleanup(guarded.Close)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "another-token-of-16": http.StatusUnauthorized, "a-token-that-reads": http.StatusOK} {
		status, _ := get(t, guarded.URL+"/metrics", token)
		require.Equal(t, want, status, token)
	}
}
