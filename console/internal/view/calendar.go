package view

import "time"

// CalendarQuery asks for a [Calendar].
type CalendarQuery struct {
	JobFilter
	Span Millis `json:"span_ms"`
}

// Calendar is a calendar of coming ticks, pauses and clock changes, as RFC 5545 writes it.
func Calendar(s *Snapshot, q CalendarQuery, now time.Time) []byte { return nil }
