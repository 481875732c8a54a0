package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTenThousandJobsAreListedAndFound(t *testing.T) {
	const jobs = 10_000
	var config strings.Builder
	config.WriteString("namespace: many\nredis: {url: \"${REDIS_URL}\"}\nlease: {ttl: 15s}\njobs:\n")
	for i := range jobs {
		fmt.Fprintf(&config, "  - {name: job-%05d, schedule: \"%d %d * * *\", log: {message: done}}\n", i, i%60, i/60%24)
	}
	w := newFleet(t, config.String()).start("one")
	p := newTab(t, look{})
	w.signIn(p, "/")
	p.await(`document.querySelector("caption")?.innerText.includes("10000 jobs")`)
	p.await(`document.querySelectorAll("tbody tr").length === 100`)

	p.expectLoad(func() { p.click(`a[rel=next]`) })
	assert.Contains(t, p.text("tbody"), "job-00100")
	p.click("#q")
	p.write("09876")
	p.await(`document.querySelectorAll("tbody tr").length === 1 && document.querySelector("tbody").innerText.includes("job-09876")`)
	p.quiet(w.host)

	var took []time.Duration
	for range 9 {
		began := time.Now()
		body := w.get("/")
		took = append(took, time.Since(began))
		assert.Less(t, len(body), 300<<10, "a page is a hundred jobs, however many there are")
	}
	slices.Sort(took)
	paint := p.paints(w)
	sent := p.eval(`performance.getEntries().reduce((n, e) => n + (e.transferSize ?? 0), 0)`)
	cold := newTab(t, look{})
	cold.open(w.url("/login"))
	first := cold.eval(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map(e => new URL(e.name).pathname + " " + e.transferSize).join(", ")`)
	t.Logf("of %d jobs: the page takes %s, the median of nine; the browser paints after %s, and is sent %.0f bytes; the login page, with the files of all pages: %s", jobs, took[4], paint, sent, first)
	assert.Less(t, took[4], 3*time.Second) // 10 times what a quiet machine takes, and more
}

// paints returns how long after the request the browser first shows something of the page of jobs.
func (p *tab) paints(w *worker) time.Duration {
	p.t.Helper()
	p.open(w.url("/"))
	p.await(`performance.getEntriesByName("first-contentful-paint").length`)
	ms, _ := p.eval(`performance.getEntriesByName("first-contentful-paint")[0].startTime`).(float64)
	return time.Duration(ms * float64(time.Millisecond))
}
