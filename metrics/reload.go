package metrics

import "time"

// The results of a reload.
const (
	reloadApplied   = "applied"
	reloadUnchanged = "unchanged"
	reloadRefused   = "refused"
)

var reloadResults = []string{reloadApplied, reloadUnchanged, reloadRefused}

// reload is the last one.
type reload struct {
	good bool
	at   time.Time // when one was last good; zero when none was
}

// CountReload counts a reload of the configuration. changed says that it differs from the one
// before, and fault that it is wrong, so that the one before stays in force. The reloader calls it,
// for one reload after the other.
func (m *Metrics) CountReload(changed bool, fault error) {
	result := reloadUnchanged
	switch {
	case fault != nil:
		result = reloadRefused
	case changed:
		result = reloadApplied
	}
	m.reloads.WithLabelValues(result).Inc()
	next := reload{good: fault == nil}
	if next.good {
		next.at = m.fleetTime()
	} else if last := m.reloaded.Load(); last != nil {
		next.at = last.at
	}
	m.reloaded.Store(&next)
}
