package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/view"
)

const (
	chartHeight = 150
	chartTop    = 18 // below the label of the highest value
	chartBottom = 22 // above the axis
)

// Durations draws how long the runs of a job took, the newest at the right.
func (f *frame) Durations(p view.JobPage) template.HTML {
	return f.bars(p, "Durations", p.Median, func(s view.Sample) time.Duration { return s.Took })
}

// Latenesses draws how long after their ticks the runs of a job began.
func (f *frame) Latenesses(p view.JobPage) template.HTML {
	return f.bars(p, "Lateness of starts", 0, func(s view.Sample) time.Duration { return s.Lateness })
}

// bars draws a bar for each run, which is a link to its tick. A run that did not succeed has the
// shape of its outcome on top.
func (f *frame) bars(p view.JobPage, key string, median time.Duration, of func(view.Sample) time.Duration) template.HTML {
	const space = chartHeight - chartTop - chartBottom
	samples := p.Samples
	const most = 120 // that are wide enough to be seen
	if len(samples) > most {
		samples = samples[len(samples)-most:]
	}
	highest := time.Millisecond
	for _, s := range samples {
		highest = max(highest, of(s))
	}
	height := func(d time.Duration) int { return int(int64(space) * int64(d) / int64(highest)) }
	var d drawing
	for _, part := range []int{0, 1, 2} {
		y := chartTop + part*space/2
		d.add(`<line class="grid" x1="0" x2="100%%" y1="%d" y2="%d"/>`, y, y)
	}
	step := 100 / float64(max(len(samples), 30))
	left := 100 - step*float64(len(samples))
	for i, s := range samples {
		x, h := left+step*float64(i), max(2, height(of(s)))
		shape := shapeOf(string(s.Outcome))
		title := strings.Join([]string{f.Word(s.Outcome, "outcome"), full(f.in(s.Tick, p.Timezone)), f.Took(of(s))}, " · ")
		d.add(`<a href="%s" tabindex="-1" class="%s"><title>%s</title><rect class="bar" x="%.2f%%" y="%d" width="%.2f%%" height="%d" rx="1.5"/>`,
			escaped(f.Tick(p.Job, s.Tick)), shape, escaped(title), x+step*.12, chartHeight-chartBottom-h, step*.76, h)
		if shape != "succeeded" {
			d.WriteString(symbol(shape, x+step/2, max(2, chartHeight-chartBottom-h-14)))
		}
		d.WriteString(`</a>`)
	}
	if median > 0 {
		y := chartHeight - chartBottom - height(median)
		d.add(`<line class="median" x1="0" x2="100%%" y1="%d" y2="%d"><title>%s</title></line>`, y, y, escaped(f.T("Median duration")+" "+f.Took(median)))
	}
	d.add(`<text x="0" y="12">%s</text>`, escaped(f.Took(highest)))
	if len(samples) > 0 {
		first, last := f.in(samples[0].Tick, p.Timezone), f.in(samples[len(samples)-1].Tick, p.Timezone)
		d.add(`<text x="0" y="%d">%s</text><text x="100%%" y="%d" text-anchor="end">%s</text>`,
			chartHeight-6, escaped(f.date(first, f.Now)+first.Format(" 15:04")), chartHeight-6, escaped(f.date(last, f.Now)+last.Format(" 15:04")))
	}
	return d.done("chart", f.T(key)+": "+f.T("%d runs, at most %s", len(samples), f.Took(highest)), chartHeight)
}

// Load draws how many runs there will be at a time; their weight where the replicas have a limit,
// which is one of weight.
func (p part) Load() template.HTML {
	shown, _ := p.V.(view.LoadPage)
	median, high := func(l view.LoadPoint) int { return l.Runs }, func(l view.LoadPoint) int { return max(l.High, l.Runs) }
	if shown.Capacity > 0 {
		median, high = func(l view.LoadPoint) int { return l.Weight }, func(l view.LoadPoint) int { return max(l.HighWeight, l.Weight) }
	}
	const height = 240
	const space = height - chartTop - chartBottom
	s := scale{shown.From, shown.To}
	highest := max(1, shown.Capacity*11/10)
	var busiest view.LoadPoint
	for _, point := range shown.Points {
		highest = max(highest, high(point))
		if median(point) > median(busiest) {
			busiest = point
		}
	}
	var d drawing
	p.gridLines(&d, s, height-chartBottom)
	// The areas are paths in a box of their own, which is stretched; symbols and texts, which have
	// sizes of their own, are not within it.
	d.add(`<svg x="0" y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none"><path class="high" d="%s"/><path class="load" d="%s"/></svg>`,
		chartTop, space, max(1, len(shown.Points)), highest,
		area(shown.Points, highest, high), area(shown.Points, highest, median))
	for _, part := range []int{0, 1, 2} {
		y := chartTop + part*space/2
		d.add(`<line class="grid" x1="0" x2="100%%" y1="%d" y2="%d"/>`, y, y)
	}
	if shown.Capacity > 0 {
		y := chartTop + space - space*shown.Capacity/highest
		d.add(`<line class="limit" x1="0" x2="100%%" y1="%d" y2="%d"><title>%s</title></line>`, y, y, escaped(p.T("capacity: weight %d", shown.Capacity)))
	}
	scaled := p.N("%d at a time", "%d at a time", highest)
	if shown.Capacity > 0 {
		scaled = p.T("weight %d", highest)
	}
	d.add(`<text x="0" y="12">%s</text>`, escaped(scaled))
	p.axis(&d, s, height-6)
	return d.done("chart tall", p.LoadTitle()+": "+p.T("at most %d, at %s", median(busiest), full(p.in(busiest.At, ""))), height)
}

// LoadTitle says what the chart of load counts.
func (p part) LoadTitle() string {
	if shown, _ := p.V.(view.LoadPage); shown.Capacity > 0 {
		return p.T("Weight of the runs at a time")
	}
	return p.T("Runs at a time")
}

// area writes the path around the steps of a chart.
func area(points []view.LoadPoint, highest int, of func(view.LoadPoint) int) string {
	var path strings.Builder
	fmt.Fprintf(&path, "M0 %d", highest)
	for i, point := range points {
		fmt.Fprintf(&path, "V%dH%d", highest-of(point), i+1)
	}
	fmt.Fprintf(&path, "V%dZ", highest)
	return path.String()
}
