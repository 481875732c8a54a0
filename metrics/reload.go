package metrics

import "time"

// Reload is the result of reading the configuration again.
type Reload string

// The results of a reload.
const (
	ReloadApplied   Reload = "applied"   // something changed
	ReloadUnchanged Reload = "unchanged" // it says the same as before
	ReloadRefused   Reload = "refused"   // it is wrong, and the one before stays in force
)

var reloadResults = []Reload{ReloadApplied, ReloadUnchanged, ReloadRefused}

// reload is the last one.
type reload struct {
	good bool
	at   time.Time // when one was last good; zero when none was
}

// CountReload counts a reload of the configuration. The reloader calls it, for one reload after the other.
func (m *Metrics) CountReload(result Reload) {
	m.reloads.WithLabelValues(string(result)).Inc()
	next := reload{good: result != ReloadRefused}
	if next.good {
		next.at = m.fleetTime()
	} else if last := m.reloaded.Load(); last != nil {
		next.at = last.at
	}
	m.reloaded.Store(&next)
}
