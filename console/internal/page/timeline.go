package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/view"
)

const (
	laneHeight = 46
	// shortRun is how wide a run has to be, in percent, to be a bar; a shorter one is the shape of its
	// outcome.
	shortRun = 1.1
)

// lane is a row of the timeline.
type lane struct {
	Job, Words, Unread string
	Drawing            template.HTML
}

// Rows draws the rows of the timeline.
func (p part) Rows() []lane {
	shown, _ := p.V.(view.TimelinePage)
	s := scale{shown.From, shown.To}
	var ground drawing // the same in each row
	p.gridLines(&ground, s, laneHeight)
	if x, width := s.span(p.Now, s.to); width > 0 {
		ground.add(`<rect class="ahead" x="%.2f%%" width="%.2f%%" height="%d"/>`, x, width, laneHeight)
	}
	if x := s.at(p.Now); x > 0 && x < 100 {
		ground.add(`<line class="now" x1="%.2f%%" x2="%.2f%%" y1="0" y2="%d"/>`, x, x, laneHeight)
	}
	lanes := make([]lane, 0, len(shown.Rows))
	for _, row := range shown.Rows {
		lanes = append(lanes, lane{row.Job, row.ScheduleWords, row.Unread, p.lane(s, ground.String(), &row, shown.ClockChanges)})
	}
	return lanes
}

func (f *frame) lane(s scale, ground string, row *view.TimelineRow, changes []view.ZoneChange) template.HTML {
	var d drawing
	d.WriteString(ground)
	if _, width := s.span(s.from, row.Kept); !row.Kept.IsZero() && width > 0 {
		d.add(`<rect class="unkept" width="%.2f%%" height="%d"><title>%s</title></rect>`, width, laneHeight, escaped(f.T("Nothing is kept from before %s", full(f.in(row.Kept, row.Timezone)))))
	}
	for _, pause := range row.Pauses {
		to := pause.To
		if to.IsZero() {
			to = s.to
		}
		x, width := s.span(pause.From, to)
		d.add(`<rect class="pause" x="%.2f%%" y="2" width="%.2f%%" height="%d"><title>%s</title></rect>`, x, width, laneHeight-4, escaped(f.T("paused by %s: %s", pause.By, pause.Why)))
	}
	f.emptyCells(&d, s, row)
	for _, change := range changes {
		if change.Timezone == row.Timezone {
			x := s.at(change.At)
			d.add(`<line class="shift-line" x1="%.2f%%" x2="%.2f%%" y1="0" y2="%d"><title>%s</title></line>`, x, x, laneHeight, escaped(f.ClockChange(change)))
		}
	}
	counts := map[string]int{}
	for i := range row.Items {
		f.item(&d, s, row, &row.Items[i])
		for outcome, n := range row.Items[i].Counts {
			counts[outcome] += n
		}
		if len(row.Items[i].Counts) == 0 {
			counts[row.Items[i].Outcome]++
		}
	}
	return d.done("lane", row.Job+": "+counted(f, counts), laneHeight)
}

// cells is of how many parts a lane is for what has no mark.
const cells = 12

// emptyCells makes each part of a lane without a mark a link to why there is none.
func (f *frame) emptyCells(d *drawing, s scale, row *view.TimelineRow) {
	const width = 100.0 / cells
	var marked [cells]bool
	for i := range row.Items {
		from, length := s.span(row.Items[i].From, row.Items[i].To)
		for cell := max(0, int(from/width)); cell < cells && float64(cell)*width <= from+length; cell++ {
			marked[cell] = true
		}
	}
	for cell := range cells {
		if !marked[cell] {
			at := s.from.Add(s.to.Sub(s.from) * time.Duration(2*cell+1) / (2 * cells)).Truncate(time.Second)
			d.add(`<a href="%s" tabindex="-1"><title>%s</title><rect class="empty" x="%.2f%%" width="%.2f%%" height="%d"/></a>`,
				escaped(f.Why(row.Job, at)), escaped(f.emptyTitle(row, at)), float64(cell)*width, width, laneHeight)
		}
	}
}

// emptyTitle says of an instant without a mark what is known of it.
func (f *frame) emptyTitle(row *view.TimelineRow, at time.Time) string {
	if at.Before(row.Kept) {
		return f.T("Nothing is kept from before %s", full(f.in(row.Kept, row.Timezone)))
	}
	for _, pause := range row.Pauses {
		if !at.Before(pause.From) && (pause.To.IsZero() || at.Before(pause.To)) {
			return f.T("paused by %s: %s", pause.By, pause.Why)
		}
	}
	return f.T("timeline.none")
}

// item draws one item, which is a link to why.
func (f *frame) item(d *drawing, s scale, row *view.TimelineRow, item *view.Item) {
	x, width := s.span(item.From, item.To)
	word := item.Outcome
	if word == "" {
		word = string(item.Kind)
	}
	shape := shapeOf(word)
	d.add(`<a href="%s" tabindex="-1" class="%s"><title>%s</title>`, escaped(f.Why(row.Job, item.Tick)), shape, escaped(f.itemTitle(row, item, word)))
	const middle = laneHeight / 2
	switch {
	case item.Kind == view.ItemDense:
		f.dense(d, x, max(width, .5), item)
	case item.Kind == view.ItemRun && width >= shortRun:
		d.add(`<rect class="bar" x="%.2f%%" y="%d" width="%.2f%%" height="14" rx="3"/>`, x, middle-7, width)
		if shape != "succeeded" && shape != "running" {
			d.add(`<rect class="ground" x="%.2f%%" y="%d" width="16" height="16" rx="8" transform="translate(-8)"/>%s`, x+width, middle-8, symbol(shape, x+width, middle-6))
		}
	case shape == "succeeded": // a bar as well, as narrow as can be seen
		d.add(`<rect class="bar" x="%.2f%%" y="%d" width="5" height="14" rx="2" transform="translate(-2.5)"/>`, x, middle-7)
	case shape == "planned":
		d.WriteString(symbol(shape, x, middle-6))
	default: // on a ground of its own: an earlier run may be drawn below it
		d.add(`<rect class="ground" x="%.2f%%" y="%d" width="14" height="14" rx="7" transform="translate(-7)"/>%s`, x, middle-7, symbol(shape, x, middle-6))
	}
	for _, at := range item.TakenOver {
		if x := s.at(at); x >= 0 && x <= 100 {
			d.add(`<g class="takeover">%s</g>`, symbol("takeover", x, 0))
		}
	}
	d.WriteString(`</a>`)
}

// symbol draws a shape of the sprite around a place.
func symbol(shape string, x float64, y int) string {
	return fmt.Sprintf(`<use href="#s-%s" x="%.2f%%" y="%d" width="12" height="12" transform="translate(-6)"/>`, shape, x, y)
}

// worst orders what a dense item is shown as.
var worst = []string{"lost", "failed", "gap", "missed", "cancelled", "replaced", "skipped", "retrying", "waiting", "running", "succeeded", "coming"}

// dense draws several ticks that are too close together: a block, of which the part at the bottom
// is the worst of them.
func (f *frame) dense(d *drawing, x, width float64, item *view.Item) {
	const height, top = 14, laneHeight/2 - 7
	total, kinds := 0, 0
	for _, n := range item.Counts {
		total += n
		kinds++
	}
	for i, word := range worst {
		n := item.Counts[word]
		if n == 0 {
			continue
		}
		part := height
		if kinds > 1 {
			part = max(5, height*n/max(total, 1)) // seen, however few they are
		}
		if part < height {
			rest := "succeeded"
			for _, other := range worst[i+1:] {
				if item.Counts[other] > 0 {
					rest = other
					break
				}
			}
			d.add(`<rect class="bar dense %s" x="%.2f%%" y="%d" width="%.2f%%" height="%d"/>`, shapeOf(rest), x, top, width, height-part)
		}
		d.add(`<rect class="bar dense %s" x="%.2f%%" y="%d" width="%.2f%%" height="%d"/>`, shapeOf(word), x, top+height-part, width, part)
		if width >= shortRun && word != "succeeded" && word != "coming" {
			d.add(`<rect class="ground" x="%.2f%%" y="%d" width="16" height="16" rx="8" transform="translate(-8)"/><g class="%s">%s</g>`, x+width/2, laneHeight/2-8, shapeOf(word), symbol(shapeOf(word), x+width/2, laneHeight/2-6))
		}
		return
	}
}

func (f *frame) itemTitle(row *view.TimelineRow, item *view.Item, word string) string {
	list := []string{row.Job, f.Word(word, "timeline", "outcome", "entry", "verdict"), full(f.in(item.Tick, row.Timezone))}
	if item.Kind == view.ItemDense {
		list = []string{row.Job, f.T("%d ticks", item.Count), counted(f, item.Counts), full(f.in(item.From, row.Timezone)) + " – " + full(f.in(item.To, row.Timezone))}
	}
	if item.Kind == view.ItemRun && item.To.After(item.From) {
		list = append(list, f.Took(item.To.Sub(item.From)))
	}
	if item.Replica != "" {
		list = append(list, item.Replica)
	}
	if len(item.TakenOver) > 0 {
		list = append(list, f.T("taken over"))
	}
	if item.Reason != "" {
		list = append(list, item.Reason)
	}
	return strings.Join(list, " · ")
}

// choice is a link among others.
type choice struct {
	Name, URL string
	Here      bool
}

// spans returns the links that choose how much time a page shows. from is where it begins then; zero
// to leave that as it is.
func (p part) spans(shown time.Duration, from func(span time.Duration) time.Time, list ...time.Duration) (links []choice) {
	for _, span := range list {
		v := p.query()
		v.Set("span", span.String())
		v.Del("step")
		if at := from(span); !at.IsZero() {
			v.Set("from", at.UTC().Format(time.RFC3339))
		}
		links = append(links, choice{p.Rough(span), p.link(p.Path, v), shown == span})
	}
	return links
}

const day = 24 * time.Hour

// Spans returns the links that zoom the timeline, around its middle or along with now, or the chart
// of load.
func (p part) Spans() []choice {
	if load, ok := p.V.(view.LoadPage); ok {
		return p.spans(load.To.Sub(load.From), func(time.Duration) time.Time { return time.Time{} }, 6*time.Hour, day, 2*day, 7*day)
	}
	shown, _ := p.V.(view.TimelinePage)
	length := shown.To.Sub(shown.From)
	return p.spans(length, func(span time.Duration) time.Time {
		if p.Query.Get("from") == "" {
			return time.Time{}
		}
		return shown.From.Add(length/2 - span/2)
	}, time.Hour, 6*time.Hour, day, 7*day, 30*day)
}

// Shift returns the link to the timeline half a page earlier or later; to one that follows now for
// 0.
func (p part) Shift(by int) string {
	shown, _ := p.V.(view.TimelinePage)
	v := p.query()
	v.Del("from")
	if by != 0 {
		v.Set("from", shown.From.Add(time.Duration(by)*shown.To.Sub(shown.From)/2).UTC().Format(time.RFC3339))
	}
	return p.link(p.Path, v)
}

// Calendar returns the link to the calendar of the jobs that the timeline chooses.
func (p part) Calendar() string {
	shown, _ := p.V.(view.TimelinePage)
	if v := view.Values(shown.Query.JobFilter); len(v) > 0 {
		return p.Prefix + "/calendar.ics?" + v.Encode()
	}
	return p.Prefix + "/calendar.ics"
}
