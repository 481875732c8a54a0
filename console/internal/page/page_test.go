package page

import (
	"bytes"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

var now = time.Date(2026, 11, 22, 11, 20, 31, 0, time.UTC)

// every has one of each page.
func every() []any {
	return []any{
		view.JobsPage{}, view.JobPage{}, view.TickPage{}, view.WhyPage{}, view.TimelinePage{}, view.LoadPage{}, view.FleetPage{}, view.LocksPage{},
		view.AuditPage{}, view.SchedulesPage{}, EditPage{}, LoginPage{}, ConfirmPage{}, DonePage{}, ErrorPage{},
	}
}

// fill gives each field of a value something to show: each text is the given one, each list has two
// of it.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if t, ok := reflect.TypeAssert[*time.Time](v.Addr()); ok {
			*t = now
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text)
			}
		}
	}
}

func rendered(t *testing.T, c Context, shown any) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Render(&b, c, shown))
	return b.String()
}

func TestEachPageRendersEmptyAndFull(t *testing.T) {
	for _, shown := range every() {
		for _, lang := range []string{English, Chinese} {
			c := Context{Path: "/", Query: url.Values{}, Lang: lang, Now: now, Namespace: "billing", Login: true, Operate: true, Events: "/events"}
			empty := rendered(t, c, shown)
			full := reflect.New(reflect.TypeOf(shown)).Elem()
			fill(full, "x")
			html := rendered(t, c, full.Interface())
			for _, page := range []string{empty, html} {
				assert.Contains(t, page, "</html>", "%T", shown)
				assert.NotContains(t, page, "ZgotmplZ", "%T", shown)
				assert.NotContains(t, page, "%!", "%T", shown)
			}
		}
	}
}

func TestPreviewIsAPartOfAPage(t *testing.T) {
	c := Context{Path: "/", Query: url.Values{}, Lang: Chinese, Now: now}
	require.NotContains(t, rendered(t, c, PreviewPage{Words: "x", Zone: "Asia/Shanghai"}), "<html")
	require.Contains(t, rendered(t, c, PreviewPage{Words: "x", Zone: "Asia/Shanghai", Coming: []time.Time{now}}), "2026-11-22 19:20:31 CST")
	html := rendered(t, c, PreviewPage{Faults: []Fault{{Field: "cron", Rule: "must have <b>ticks"}}})
	require.Contains(t, html, "must have &lt;b&gt;ticks")
}

func TestListOfSchedulesIsNotReadAtEachEvent(t *testing.T) {
	for path, want := range map[string]string{
		"/jobs/a/schedules": "sse:reset, every 30s", "/jobs/a/schedules/b": "sse:change throttle:1s, sse:reset, every 5s", "/jobs/a": "sse:change throttle:1s, sse:reset, every 30s",
	} {
		var shown any = view.JobPage{}
		if strings.HasSuffix(path, "/schedules") {
			shown = view.SchedulesPage{}
		}
		require.Contains(t, rendered(t, Context{Path: path, Query: url.Values{}, Now: now, Events: "/events"}, shown), `hx-trigger="`+want+`"`)
	}
}

// inline finds what the content security policy refuses: a page that has it would not work.
var inline = regexp.MustCompile(`(?i)<style|<script>|<script [^>]*>[^<]|\sstyle=|\son[a-z]+=|javascript:`)

func TestTextOfOthersStaysText(t *testing.T) {
	const hostile = `x"'><script>alert(1)</script><img src=x onerror=alert(1) style=x>`
	for _, shown := range every() {
		full := reflect.New(reflect.TypeOf(shown)).Elem()
		fill(full, hostile)
		html := rendered(t, Context{
			Path: "/", Query: url.Values{"q": {hostile}, hostile: {hostile}}, Zone: hostile, Now: now, Namespace: hostile, User: hostile, Login: true, Operate: true,
		}, full.Interface())
		// Escaped texts and attributes have no < of their own.
		for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(html, -1) {
			without := regexp.MustCompile(`"[^"]*"|'[^']*'`).ReplaceAllString(tag, `""`)
			assert.False(t, inline.MatchString(without), "%T: %s", shown, tag)
		}
		assert.NotContains(t, html, "<img", "%T", shown)
		assert.NotContains(t, html, "<script>alert", "%T", shown)
	}
}

func TestViewWithoutPageIsRefused(t *testing.T) {
	require.ErrorContains(t, Render(new(bytes.Buffer), Context{}, 7), "int")
}

func TestTimesAreInTheZoneAskedFor(t *testing.T) {
	f := &frame{Context: Context{Now: now, Lang: English}}
	assert.Contains(t, f.At(now, "Europe/Berlin"), ">12:20:31<")
	assert.Contains(t, f.At(now, "Europe/Berlin"), "2026-11-22 11:20:31 UTC")
	assert.Contains(t, f.At(now.AddDate(0, 0, 1), ""), ">23 Nov 11:20<")
	assert.Contains(t, f.At(now.AddDate(-1, 0, 1), ""), ">23 Nov 2025 11:20<")
	assert.Empty(t, f.At(time.Time{}, ""))
	f.zone = location("Asia/Shanghai")
	assert.Contains(t, f.At(now, "Europe/Berlin"), ">19:20:31<")
	assert.Contains(t, f.At(now, "Europe/Berlin"), "12:20:31 CET (Europe/Berlin)")
	f.Lang = Chinese
	assert.Contains(t, f.At(now.AddDate(0, 0, 1), ""), "11月23日")
}

func TestDurationsReadAsPeopleSayThem(t *testing.T) {
	f := &frame{Context: Context{Now: now, Lang: English}}
	assert.Equal(t, "in 1 min 30 s", f.Away(now.Add(90*time.Second)))
	assert.Equal(t, "5 h ago", f.Away(now.Add(-5*time.Hour-10*time.Minute)))
	assert.Equal(t, "now", f.Away(now))
	assert.Equal(t, "1 d 2 h", f.Rough(26*time.Hour))
	assert.Equal(t, "940 ms", f.Took(940*time.Millisecond))
	assert.Equal(t, "1.29 s", f.Took(1290*time.Millisecond))
	assert.Equal(t, "−12 ms", f.Offset(-12*time.Millisecond))
}

func TestGridFollowsTheClockThroughItsChange(t *testing.T) {
	berlin := location("Europe/Berlin")
	day := time.Date(2026, 3, 28, 23, 30, 0, 0, berlin)
	lines, _ := scale{day, day.Add(8 * time.Hour)}.grid(berlin)
	var hours []string
	for _, t := range lines {
		hours = append(hours, t.Format("15:04"))
	}
	assert.Equal(t, []string{"00:00", "01:00", "03:00", "04:00", "05:00", "06:00", "07:00", "08:00"}, hours)
}

func TestMarksLieWhereTheirTimesAre(t *testing.T) {
	s := scale{now, now.Add(100 * time.Minute)}
	x, width := s.span(now.Add(-time.Hour), now.Add(10*time.Minute))
	assert.InDelta(t, 0, x, 1e-9)
	assert.InDelta(t, 10, width, 1e-9)
	x, width = s.span(now.Add(90*time.Minute), now.Add(900*time.Minute))
	assert.InDelta(t, 90, x, 1e-9)
	assert.InDelta(t, 10, width, 1e-9)
}

func TestShareOfSuccessesNeverRoundsUpToAll(t *testing.T) {
	f := new(frame)
	assert.Equal(t, "100 %", f.Share(map[protocol.Outcome]int{"succeeded": 7}))
	assert.Equal(t, "99.9 %", f.Share(map[protocol.Outcome]int{"succeeded": 99999, "failed": 1}))
	assert.Equal(t, "–", f.Share(nil))
}

func TestEachOutcomeHasShapeOfItsOwn(t *testing.T) {
	sprite, err := sources.ReadFile("templates/parts.html")
	require.NoError(t, err)
	seen := map[string]string{}
	for _, outcome := range append(outcomes, wire.StateRunning) {
		symbol := regexp.MustCompile(`<symbol id="s-` + shapeOf(string(outcome)) + `"[^>]*>(.*)</symbol>`).FindSubmatch(sprite)
		require.NotNil(t, symbol, outcome)
		assert.Empty(t, seen[string(symbol[1])], outcome)
		seen[string(symbol[1])] = string(outcome)
	}
	for word, shape := range shapes {
		assert.Contains(t, string(sprite), `id="s-`+shape+`"`, word)
	}
}

func TestEachEmptyPartOfALaneOpensWhy(t *testing.T) {
	at := func(minutes int) time.Time {
		return now.Truncate(time.Hour).Add(time.Duration(minutes) * time.Minute)
	}
	row := view.TimelineRow{Job: "sync", Items: []view.Item{
		{Kind: view.ItemRun, Outcome: "succeeded", From: at(2), To: at(11), Tick: at(2)},
		{Kind: view.ItemGap, From: at(31), To: at(31), Tick: at(31)},
	}}
	shown := view.TimelinePage{From: at(0), To: at(60), Rows: []view.TimelineRow{row}}
	page := rendered(t, Context{Path: "/timeline", Query: url.Values{}, Now: now}, shown)
	require.Equal(t, cells-4, strings.Count(page, `class="empty"`), "of five minutes each")
	require.Contains(t, page, url.QueryEscape(at(15).Add(150*time.Second).Format(time.RFC3339)))
	require.NotContains(t, page, url.QueryEscape(at(30).Add(150*time.Second).Format(time.RFC3339)))
}
