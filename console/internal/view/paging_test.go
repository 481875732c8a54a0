package view_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
)

// Every job that is there throughout is on exactly one page, whatever comes and goes between two
// pages.
func TestJobsStayOnOnePageWhileOthersChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := func(i int) fleet.JobStatus {
			return fleet.JobStatus{Name: fmt.Sprintf("job-%03d", i), Schedule: "0 * * * *", Timezone: "UTC", Next: noon.Add(time.Duration(i%7) * time.Minute)}
		}
		stay := rapid.SliceOfDistinct(rapid.IntRange(0, 300), rapid.ID[int]).Draw(t, "stay")
		q := view.JobsQuery{
			Sort:       rapid.SampledFrom([]view.Sort{view.SortName, view.SortNext, view.SortState, view.SortLast, view.SortTook}).Draw(t, "sort"),
			Descending: rapid.Bool().Draw(t, "descending"), Limit: rapid.IntRange(1, 9).Draw(t, "limit"),
		}
		seen := map[string]int{}
		for pages := 0; ; pages++ {
			if pages > 700 {
				t.Fatal("the pages never end")
			}
			s := &view.Snapshot{}
			for _, i := range stay {
				s.Status.Jobs = append(s.Status.Jobs, status(i))
			}
			for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(400, 420), 0, 5, rapid.ID[int]).Draw(t, "come and go") {
				s.Status.Jobs = append(s.Status.Jobs, status(i))
			}
			p := view.Jobs(s, q, noon)
			for _, j := range p.Jobs {
				seen[j.Job]++
			}
			if q.After = p.Next; p.Next == "" {
				break
			}
		}
		for _, i := range stay {
			if n := seen[status(i).Name]; n != 1 {
				t.Fatalf("%s is on %d pages", status(i).Name, n)
			}
		}
	})
}

func TestPagesBackAreThoseForward(t *testing.T) {
	s := many(t, 95)
	for _, order := range []string{"name", "-name", "next", "-took", "last", "state"} {
		q := query(t, view.Parse[view.JobsQuery], "limit=10&sort="+order)
		var pages [][]string
		last := view.Jobs(s, q, noon)
		for {
			pages = append(pages, names(last))
			if last.Next == "" {
				break
			}
			q.After = last.Next
			last = view.Jobs(s, q, noon)
		}
		require.Len(t, pages, 10, order)
		for n := len(pages) - 2; n >= 0; n-- {
			q.After, q.Before = "", last.Previous
			last = view.Jobs(s, q, noon)
			require.Equal(t, pages[n], names(last), order)
		}
		require.Empty(t, last.Previous, order)
	}
}

func TestACursorPastTheEndLeadsBack(t *testing.T) {
	s := many(t, 5)
	q := query(t, view.Parse[view.JobsQuery], "limit=4")
	q.After = view.Jobs(s, q, noon).Next
	s.Status.Jobs = s.Status.Jobs[:1]
	p := view.Jobs(s, q, noon)
	require.Empty(t, p.Jobs)
	q.After, q.Before = "", p.Previous
	require.Len(t, view.Jobs(s, q, noon).Jobs, 1)
}

func TestQueriesSurviveTheirURL(t *testing.T) {
	for _, of := range []string{
		"", "after=&q=a+b&state=paused,idle&group=eu,us&replica=web-1&sort=-next&limit=7&zone=Asia/Tokyo", "sort=-name",
	} {
		q := query(t, view.Parse[view.JobsQuery], of)
		require.Equal(t, q, query(t, view.Parse[view.JobsQuery], view.Values(q).Encode()), of)
	}
	cursor := view.Jobs(many(t, 5), query(t, view.Parse[view.JobsQuery], "limit=2&sort=next"), noon).Next
	q := query(t, view.Parse[view.JobsQuery], "limit=2&sort=next&after="+cursor)
	require.Equal(t, q, query(t, view.Parse[view.JobsQuery], view.Values(q).Encode()))
	for _, of := range []string{"", "from=2026-10-30T12:00:00Z&span=31d&limit=3&cells=100&state=failing&zone=UTC", "span=90m"} {
		q := query(t, view.Parse[view.TimelineQuery], of)
		require.Equal(t, q, query(t, view.Parse[view.TimelineQuery], view.Values(q).Encode()), of)
	}
	for _, of := range []string{"", "from=1793361600000&span=14d&step=1h&top=3&group=eu"} {
		q := query(t, view.Parse[view.LoadQuery], of)
		require.Equal(t, q, query(t, view.Parse[view.LoadQuery], view.Values(q).Encode()), of)
	}
	job := query(t, view.Parse[view.JobQuery], "ticks=3&outcome=failed,lost&limit=9&zone=UTC")
	require.Equal(t, job, query(t, view.Parse[view.JobQuery], view.Values(job).Encode()))
	locks := query(t, view.Parse[view.LocksQuery], "q=x&limit=9&after=door&zone=UTC")
	require.Equal(t, locks, query(t, view.Parse[view.LocksQuery], view.Values(locks).Encode()))
	audit := query(t, view.Parse[view.AuditQuery], "job=a&by=b&action=paused&limit=9&after=c&zone=UTC")
	require.Equal(t, audit, query(t, view.Parse[view.AuditQuery], view.Values(audit).Encode()))
	calendar := query(t, view.Parse[view.CalendarQuery], "q=x&span=30d")
	require.Equal(t, calendar, query(t, view.Parse[view.CalendarQuery], view.Values(calendar).Encode()))
}

func TestAllFaultsOfAQueryComeAtOnce(t *testing.T) {
	_, err := view.Parse[view.JobsQuery](values(t, "state=asleep&group=a%00b&sort=colour&limit=0&after=!&zone=Nowhere/City&colour=red&q="+strings.Repeat("x", 300)))
	require.ErrorContains(t, err, `state: "asleep" must be one of overdue, ahead`)
	require.ErrorContains(t, err, `group: "a\x00b" must start with a letter`)
	require.ErrorContains(t, err, `sort: "colour" must be one of name, state, next, last, took`)
	require.ErrorContains(t, err, `limit: "0" must be a whole number from 1 to 1000`)
	require.ErrorContains(t, err, `after: "!" must be a cursor that a page of jobs gave`)
	require.ErrorContains(t, err, `zone: "Nowhere/City" must be a name of the IANA time zone database`)
	require.ErrorContains(t, err, `colour: "red" is no parameter here; there are: after, before, group`)
	require.ErrorContains(t, err, `must have at most 256 bytes`)
}

func TestCursorsBelongToTheirOrder(t *testing.T) {
	cursor := view.Jobs(many(t, 5), query(t, view.Parse[view.JobsQuery], "limit=2"), noon).Next
	_, err := view.Parse[view.JobsQuery](values(t, "sort=-name&after="+cursor))
	require.ErrorContains(t, err, "is a cursor of another order")
	_, err = view.Parse[view.JobsQuery](values(t, "after="+cursor+"&before="+cursor))
	require.ErrorContains(t, err, "must not be given beside after")
	twice := base64.RawURLEncoding.EncodeToString([]byte(`{"n":"b","s":"name"}`)) // not as a page writes it
	_, err = view.Parse[view.JobsQuery](values(t, "after="+twice))
	require.ErrorContains(t, err, "must be a cursor")
}

// hostile are values that no parameter has.
var hostile = []string{
	"\x00", "\xff\xfe", "🙂\u202e", strings.Repeat("9", 5000), "-1", "1e9", "NaN", "0x10", "-9223372036854775808", "9223372036854775807", "../../etc/passwd", "' OR 1=1 --",
	"<script>", "%", "{{.}}", "\r\nSet-Cookie: a", "Local", "local", "0001-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "106751d", "-5d", "1h1h", "eyJzIjoibmFtZSJ9", "bnVsbA", "W10",
	strings.Repeat(",", 3000), strings.Repeat("a,", 300),
}

func TestHostileValuesAreFaultsAndNeverPanic(t *testing.T) {
	s := small(t)
	names := []string{
		"q", "state", "group", "replica", "sort", "limit", "after", "before", "zone", "from", "span", "step", "top", "cells", "ticks", "outcome", "job", "by", "action", "lang", "x",
	}
	for _, name := range names {
		for _, value := range hostile {
			v := map[string][]string{name: {value}}
			if q, err := view.Parse[view.JobsQuery](v); err == nil {
				_ = text(t, view.Jobs(s, q, noon))
			}
			if q, err := view.Parse[view.TimelineQuery](v); err == nil {
				_ = text(t, view.Timeline(s, nil, q, noon))
			}
			if q, err := view.Parse[view.LoadQuery](v); err == nil {
				_ = text(t, view.Load(s, nil, q, noon))
			}
			if q, err := view.Parse[view.JobQuery](v); err == nil {
				_ = text(t, view.Job(s, description(t, s), q, noon))
			}
			if q, err := view.Parse[view.LocksQuery](v); err == nil {
				_ = text(t, view.Locks(s, q, noon))
			}
			if q, err := view.Parse[view.CalendarQuery](v); err == nil {
				_ = view.Calendar(s, q, noon)
			}
			_, _ = view.Parse[view.AuditQuery](v)
			_, err := view.Parse[view.FleetQuery](v)
			if name != "zone" && name != "lang" {
				require.Error(t, err, "%s=%q", name, value)
			}
			_, err = view.Parse[view.TickQuery](map[string][]string{"tick": {value}})
			require.Error(t, err)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				require.Less(t, len(line), 600)
			}
		}
	}
	many := map[string][]string{}
	for i := range 1000 {
		many[fmt.Sprintf("p%d", i)] = []string{"x"}
	}
	_, err := view.Parse[view.JobsQuery](many)
	require.Error(t, err)
	require.Less(t, len(err.Error()), 10_000, "not a line for each of a thousand")
	groups := slices.Repeat([]string{"a"}, 5)
	_, err = view.Parse[view.JobsQuery](map[string][]string{"limit": groups})
	require.ErrorContains(t, err, "must be given once")
}

// BenchmarkJobs10000 is a page of 10,000 jobs, filtered, sorted and counted.
func BenchmarkJobs10000(b *testing.B) {
	s := many(b, 10_000)
	for _, of := range []string{"", "sort=-next&limit=100", "q=team+09&group=eu&sort=took", "state=failing,idle&replica=web-07&sort=-last"} {
		q := query(b, view.Parse[view.JobsQuery], of)
		b.Run(of, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = view.Jobs(s, q, noon)
			}
		})
	}
}
